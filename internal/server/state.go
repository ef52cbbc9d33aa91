package server

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

func (s *server) states() []endpoint {
	return []endpoint{
		answering("The versions of the state of a stack, the newest first", identity.StackRead, s.listStateVersions),
		answering("One version, without its bytes", identity.StackRead, s.showStateVersion),
		answering("The version that counts, without its bytes", identity.StackRead, s.currentState),
		answering("The bytes of a version", identity.StateRead, s.downloadState),
		making("Write a new version, under one's own lock", identity.StateWrite, s.pushState),
		making("Take over a state that was kept elsewhere", identity.StateRecover, s.importState),
		making("Go back to an earlier version, under one's own lock", identity.StateRecover, s.rollbackState),
	}
}

func stateVersion(v postgres.StateVersion) v1.StateVersion {
	return v1.StateVersion{ID: v.ID, Stack: v.Stack, Status: string(v.Status), Sequence: v.Sequence, Serial: v.Serial, Lineage: v.Lineage,
		MD5: v.MD5, Size: v.Size, Resources: v.Resources, Outputs: v.Outputs, Tool: v.Tool, Encrypted: v.Encrypted,
		Forced: string(v.Forced), CopyOf: v.CopyOf, Writer: principal(v.Writer), Created: v.Created}
}

func (s *server) listStateVersions(ctx context.Context, who identity.Principal, in v1.ListStateVersions) (v1.Page[v1.StateVersion], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.StateVersion]{}, err
	}
	created, id, err := moment(c)
	if err != nil {
		return v1.Page[v1.StateVersion]{}, err
	}
	var found []postgres.StateVersion
	err = s.control.View(ctx, func(v *postgres.View) (err error) {
		found, err = v.StatesBefore(ctx, who, in.Stack, created, id, c.more())
		return err
	})
	key := func(v postgres.StateVersion) string { return v.Created.Format(fixedTime) + " " + v.ID }
	return page(c, found, key, stateVersion), err
}

// moment is the cursor of a list that goes back in time: when, and which of those
// of the same moment. Before the first page it is the end of all time.
func moment(c cursor) (at time.Time, id string, err error) {
	if c.after == "" {
		return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), "", nil
	}
	text, id, _ := strings.Cut(c.after, " ")
	if at, err = time.Parse(fixedTime, text); err != nil {
		return at, "", problem.New(api.Invalid, "this is no cursor of this list").
			WithHint("take it from the field next of the page before, or leave it out for the first page")
	}
	return at, id, nil
}

func (s *server) showStateVersion(ctx context.Context, who identity.Principal, in v1.ShowStateVersion) (v1.StateVersion, error) {
	var found postgres.StateVersion
	err := s.control.View(ctx, func(v *postgres.View) (err error) {
		found, err = v.State(ctx, who, in.Version)
		return err
	})
	return stateVersion(found), err
}

func (s *server) currentState(ctx context.Context, who identity.Principal, in v1.CurrentState) (v1.StateVersion, error) {
	var found postgres.StateVersion
	err := s.control.View(ctx, func(v *postgres.View) (err error) {
		found, err = v.CurrentState(ctx, who, in.Stack)
		return err
	})
	return stateVersion(found), err
}

func (s *server) downloadState(ctx context.Context, who identity.Principal, in v1.DownloadState) (stream, error) {
	v, body, err := s.control.OpenState(ctx, who, in.Version)
	if err != nil {
		return stream{}, err
	}
	return kept(body, v.Size), nil
}

// kept is the stream of an artifact.
func kept(body *artifact.Reader, size int64) stream {
	return stream{size: size, write: func(w io.Writer) error {
		defer body.Close()
		_, err := io.Copy(w, body)
		return err
	}}
}

func (s *server) pushState(ctx context.Context, who identity.Principal, in v1.PushState) (v1.StateVersion, error) {
	request := control.StateRequest{Write: state.Write{MD5: in.MD5, Force: in.Force}, Key: in.Key, FromContents: true}
	made, err := s.control.WriteState(ctx, who, in.Stack, request, in.Body, control.StateMax)
	return stateVersion(made), err
}

func (s *server) importState(ctx context.Context, who identity.Principal, in v1.ImportState) (v1.StateVersion, error) {
	made, err := s.control.ImportState(ctx, who, in.Stack, control.Import{Source: in.Source, MD5: in.MD5, Force: in.Force}, in.Body)
	return stateVersion(made), err
}

func (s *server) rollbackState(ctx context.Context, who identity.Principal, in v1.RollbackState) (v1.StateVersion, error) {
	made, err := s.control.RollbackState(ctx, who, in.Version, in.Key)
	return stateVersion(made), err
}
