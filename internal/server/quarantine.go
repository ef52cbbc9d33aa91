package server

import (
	"context"

	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func (s *server) quarantine() []endpoint {
	return []endpoint{
		answering("The bytes that were refused as versions of a stack, the newest first", identity.StateRecover, s.listQuarantine),
		answering("Some bytes that were refused, without them", identity.StateRecover, s.showQuarantined),
		answering("The bytes that were refused", identity.StateRecover, s.downloadQuarantined),
		making("Make bytes that were refused the current version, under one's own lock", identity.StateRecover, s.importQuarantined),
	}
}

func quarantined(q postgres.Quarantined) v1.Quarantined {
	doc := v1.Quarantined{ID: q.ID, Stack: q.Stack, Reason: string(q.Reason), Lineage: q.Lineage, Size: q.Size, Writer: principal(q.Writer), At: q.At}
	if q.Serial != nil {
		doc.Serial = *q.Serial
	}
	return doc
}

func (s *server) listQuarantine(ctx context.Context, who identity.Principal, in v1.ListQuarantine) (v1.Page[v1.Quarantined], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.Quarantined]{}, err
	}
	var all []postgres.Quarantined
	err = s.control.View(ctx, func(v *postgres.View) (err error) {
		all, err = v.QuarantinedOf(ctx, who, in.Stack)
		return err
	})
	key := func(q postgres.Quarantined) string { return q.At.Format(fixedTime) + " " + q.ID }
	return page(c, before(c, all, key), key, quarantined), err
}

func (s *server) showQuarantined(ctx context.Context, who identity.Principal, in v1.ShowQuarantined) (v1.Quarantined, error) {
	var found postgres.Quarantined
	err := s.control.View(ctx, func(v *postgres.View) (err error) {
		found, err = v.Quarantined(ctx, who, in.Quarantined)
		return err
	})
	return quarantined(found), err
}

func (s *server) downloadQuarantined(ctx context.Context, who identity.Principal, in v1.DownloadQuarantined) (stream, error) {
	q, body, err := s.control.OpenQuarantined(ctx, who, in.Quarantined)
	if err != nil {
		return stream{}, err
	}
	return kept(body, q.Size), nil
}

func (s *server) importQuarantined(ctx context.Context, who identity.Principal, in v1.ImportQuarantined) (v1.StateVersion, error) {
	made, err := s.control.ImportQuarantined(ctx, who, in.Quarantined, in.Key)
	return stateVersion(made), err
}
