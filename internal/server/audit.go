package server

import (
	"bufio"
	"context"
	"io"
	"math"
	"strconv"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

func (s *server) audit() []endpoint {
	return []endpoint{
		answering("The audit log of an organisation, the newest entry first", identity.AuditRead, s.listAudit),
		answering("The whole audit log as JSON Lines, the oldest entry first, for assize audit verify", identity.AuditRead, s.exportAudit).sending("application/jsonl"),
		answering("The newest entry of the audit log, to be noted elsewhere", identity.AuditRead, s.headAudit),
	}
}

func auditEntry(e identity.Entry) v1.AuditEntry {
	return v1.AuditEntry{Sequence: e.Sequence, At: e.At, Principal: principal(e.Principal), Scope: v1.AuditScope(e.Scope),
		Action: e.Action, Object: e.Object, Outcome: e.Outcome, Detail: e.Detail, Previous: e.Previous, Digest: e.Digest}
}

func (s *server) listAudit(ctx context.Context, who identity.Principal, in v1.ListAudit) (v1.Page[v1.AuditEntry], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.AuditEntry]{}, err
	}
	before := int64(math.MaxInt64)
	if c.after != "" {
		if before, err = strconv.ParseInt(c.after, 10, 64); err != nil {
			return v1.Page[v1.AuditEntry]{}, problem.New(api.Invalid, "this is no cursor of an audit log")
		}
	}
	found, err := s.entriesBefore(ctx, who, in.Organisation, before, c.more())
	key := func(e identity.Entry) string { return strconv.FormatInt(e.Sequence, 10) }
	return page(c, found, key, auditEntry), err
}

// entriesBefore are at most so many entries before one, the newest first.
func (s *server) entriesBefore(ctx context.Context, who identity.Principal, organisation string, before int64, limit int) ([]identity.Entry, error) {
	var found []identity.Entry
	err := s.control.View(ctx, func(v *postgres.View) error {
		o, err := v.Organisation(ctx, who, organisation)
		if err != nil {
			return err
		}
		found, err = v.AuditBefore(ctx, who, o.ID, before, limit)
		return err
	})
	return found, err
}

func (s *server) headAudit(ctx context.Context, who identity.Principal, in v1.HeadAudit) (v1.AuditHead, error) {
	newest, err := s.entriesBefore(ctx, who, in.Organisation, math.MaxInt64, 1)
	if err != nil {
		return v1.AuditHead{}, err
	}
	if len(newest) == 0 {
		return v1.AuditHead{}, problem.New(api.Internal, "the audit log of the organisation is empty, which it never is")
	}
	e := newest[0]
	return v1.AuditHead{Sequence: e.Sequence, At: e.At, Digest: e.Digest}, nil
}

// exportPage is how many entries of an export are in memory at a time.
const exportPage = 1000

func (s *server) exportAudit(ctx context.Context, who identity.Principal, in v1.ExportAudit) (stream, error) {
	var organisation string
	first, err := []identity.Entry(nil), error(nil)
	err = s.control.View(ctx, func(v *postgres.View) error {
		o, err := v.Organisation(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		organisation = o.ID
		first, err = v.AuditAfter(ctx, who, o.ID, 0, exportPage)
		return err
	})
	return stream{size: -1, write: func(w io.Writer) error {
		return s.writeEntries(ctx, who, organisation, first, w)
	}}, err
}

// writeEntries writes the entries of a page, and of all pages that follow.
func (s *server) writeEntries(ctx context.Context, who identity.Principal, organisation string, entries []identity.Entry, w io.Writer) error {
	lines := bufio.NewWriter(w)
	for len(entries) > 0 {
		for _, e := range entries {
			line, err := e.Encode()
			if err != nil {
				return err
			}
			_, _ = lines.Write(append(line, '\n')) // Flush says what became of it
		}
		if len(entries) < exportPage {
			break
		}
		last := entries[len(entries)-1].Sequence
		err := s.control.View(ctx, func(v *postgres.View) (err error) {
			entries, err = v.AuditAfter(ctx, who, organisation, last, exportPage)
			return err
		})
		if err != nil {
			return err
		}
	}
	return lines.Flush()
}
