package server

import (
	"context"

	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func (s *server) deleted() []endpoint {
	return []endpoint{
		answering("The stacks of an organisation that were deleted with a state, the newest first", identity.OrganisationAdmin, s.listDeleted),
		answering("The last state of a stack that was deleted", identity.OrganisationAdmin, s.downloadDeleted),
	}
}

func deletedStack(g postgres.Grave) v1.DeletedStack {
	return v1.DeletedStack{Stack: g.Stack, Name: g.Name, Serial: g.Serial, Lineage: g.Lineage, Size: g.Size, Deleted: g.At}
}

func (s *server) listDeleted(ctx context.Context, who identity.Principal, in v1.ListDeleted) (v1.Page[v1.DeletedStack], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.DeletedStack]{}, err
	}
	var all []postgres.Grave
	err = s.control.View(ctx, func(v *postgres.View) error {
		o, err := v.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		all, err = v.Graves(ctx, who, o.ID)
		return err
	})
	key := func(g postgres.Grave) string { return g.At.Format(fixedTime) + " " + g.Stack }
	return page(c, before(c, all, key), key, deletedStack), err
}

func (s *server) downloadDeleted(ctx context.Context, who identity.Principal, in v1.DownloadDeleted) (stream, error) {
	g, body, err := s.control.OpenGrave(ctx, who, in.Stack)
	if err != nil {
		return stream{}, err
	}
	return kept(body, g.Size), nil
}
