package server

import (
	"context"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

func (s *server) stacks() []endpoint {
	return []endpoint{
		answering("The stacks of an organisation that the caller may see, by name", identity.StackRead, s.listStacks),
		making("Make a stack", identity.StackAdmin, s.createStack),
		answering("The stack with this name", identity.StackRead, s.findStack),
		answering("The stack with this id", identity.StackRead, s.showStack),
		answering("Delete a stack and all versions of its state", identity.StackAdmin, s.deleteStack),
	}
}

func stack(s postgres.Stack) v1.Stack {
	return v1.Stack{ID: s.ID, Name: s.Name, Project: s.Project, Created: s.Created, Updated: s.Updated}
}

func (s *server) listStacks(ctx context.Context, who identity.Principal, in v1.ListStacks) (v1.Page[v1.Stack], error) {
	c, err := paging(in.Paging)
	if err != nil {
		return v1.Page[v1.Stack]{}, err
	}
	var found []postgres.Stack
	err = s.control.View(ctx, func(v *postgres.View) error {
		o, err := v.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		found, err = v.StacksAfter(ctx, who, postgres.StackPage{Organisation: o.ID, Project: in.Project, Search: in.Search, After: c.after, Limit: c.more()})
		return err
	})
	return page(c, found, func(s postgres.Stack) string { return s.Name }, stack), err
}

func (s *server) createStack(ctx context.Context, who identity.Principal, in v1.CreateStack) (v1.Stack, error) {
	var made postgres.Stack
	err := s.control.Update(ctx, func(u *postgres.Update) error {
		o, err := u.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		if in.Project != "" {
			if o.Project, err = projectOf(ctx, u, who, o.ID, in.Project); err != nil {
				return err
			}
		}
		made, err = u.CreateStack(ctx, who, postgres.Stack{Project: o.Project, Name: in.Name})
		return err
	})
	return stack(made), err
}

// projectOf is the project that was named, which must be of the organisation.
func projectOf(ctx context.Context, u *postgres.Update, who identity.Principal, organisation, named string) (string, error) {
	p, err := u.Project(ctx, who, named)
	if err == nil && p.Organisation != organisation {
		err = problem.New(api.NotFound, "the project is of another organisation").
			WithHint("GET /v1/organisations/ORGANISATION/projects lists those of this one")
	}
	return p.ID, err
}

func (s *server) findStack(ctx context.Context, who identity.Principal, in v1.FindStack) (v1.Stack, error) {
	var found postgres.Stack
	err := s.control.View(ctx, func(v *postgres.View) error {
		o, err := v.Home(ctx, who, in.Organisation)
		if err != nil {
			return err
		}
		found, err = v.StackByName(ctx, who, o.ID, in.Name)
		return err
	})
	return stack(found), err
}

func (s *server) showStack(ctx context.Context, who identity.Principal, in v1.ShowStack) (v1.Stack, error) {
	var found postgres.Stack
	err := s.control.View(ctx, func(v *postgres.View) (err error) {
		found, err = v.Stack(ctx, who, in.Stack)
		return err
	})
	return stack(found), err
}

func (s *server) deleteStack(ctx context.Context, who identity.Principal, in v1.DeleteStack) (nothing, error) {
	return nothing{}, s.control.Update(ctx, func(u *postgres.Update) error { return u.DeleteStack(ctx, who, in.Stack, in.Force) })
}
