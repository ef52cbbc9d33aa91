package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
)

// This file is what the commands about people have in common: how they are made, and
// who is meant by a name.

// An asking is a command that asks a server.
type asking struct {
	use, short string
	long       string // what one wants to know, and examples
	args       cobra.PositionalArgs
	site       bool // it is about the server, and no organisation has to be named
	do         func(ctx context.Context, r *remote, args []string) error
}

// command is the command, with a connection and --json.
func (g *Globals) command(a asking) *cobra.Command {
	r := &remote{g: g}
	cmd := &cobra.Command{
		Use:   a.use,
		Short: a.short,
		Long:  a.short + ".\n\n" + a.long + exitHelp,
		Args:  a.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.connect(); err != nil {
				return err
			}
			return a.do(cmd.Context(), r, args)
		},
	}
	if a.site {
		r.serverFlag(cmd)
	} else {
		r.flags(cmd)
	}
	r.printing(cmd)
	return cmd
}

// both wants exactly these two words.
func both(first, second, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 2 {
			return problem.New(api.Invalid, "it wants %s and %s", first, second).WithHint("%s", example)
		}
		return nil
	}
}

// say tells people what was done, and programs what it was done to.
func say(g *Globals, r *remote, doc any, format string, values ...any) error {
	if r.json {
		return page.JSON(g.Out, doc)
	}
	for i, v := range values {
		if text, ok := v.(string); ok {
			values[i] = page.Visible(text)
		}
	}
	_, err := fmt.Fprintf(g.Out, format+"\n", values...)
	return err
}

// projects are those of the organisation.
func (r *remote) projects(ctx context.Context, in string) ([]v1.Project, error) {
	return gather[v1.Project](ctx, r, 0, func(p v1.Paging) binding.Request { return v1.ListProjects{Organisation: in, Paging: p} })
}

func (r *remote) teams(ctx context.Context, in string) ([]v1.Team, error) {
	return gather[v1.Team](ctx, r, 0, func(p v1.Paging) binding.Request { return v1.ListTeams{Organisation: in, Paging: p} })
}

func (r *remote) members(ctx context.Context, in string) ([]v1.Member, error) {
	return gather[v1.Member](ctx, r, 0, func(p v1.Paging) binding.Request { return v1.ListMembers{Organisation: in, Paging: p} })
}

// project is the one that somebody calls by its name or its id.
func (r *remote) project(ctx context.Context, in, called string) (v1.Project, error) {
	all, err := r.projects(ctx, in)
	for _, p := range all {
		if p.ID == called || strings.EqualFold(p.Name, called) {
			return p, nil
		}
	}
	return v1.Project{}, unnamed(err, "project", called, in)
}

// team is the one that somebody calls by its name or its id.
func (r *remote) team(ctx context.Context, in, called string) (v1.Team, error) {
	all, err := r.teams(ctx, in)
	for _, t := range all {
		if t.ID == called || strings.EqualFold(t.Name, called) {
			return t, nil
		}
	}
	return v1.Team{}, unnamed(err, "team", called, in)
}

// member is who somebody calls by a name, by an address, or by an id.
func (r *remote) member(ctx context.Context, in, called string) (v1.Member, error) {
	all, err := r.members(ctx, in)
	for _, m := range all {
		if is(m, called) {
			return m, nil
		}
	}
	return v1.Member{}, unnamed(err, "member", called, in)
}

// unnamed is that there is nothing of this name, unless asking went wrong.
func unnamed(err error, kind, called, in string) error {
	if err != nil {
		return err
	}
	return problem.New(api.NotFound, "there is no %s %s in %s, or you may not see it", kind, page.Visible(called), page.Visible(in)).
		WithHint("assize %s list", kind)
}

// A holder is a user or a team that can have a role.
type holder struct{ id, name string }

// holder is who somebody calls by a name, by an address, or by an id, which needs
// nobody to see the list of members.
func (r *remote) holder(ctx context.Context, in, called string) (holder, error) {
	if identity.IsID(identity.UserID, called) || identity.IsID(identity.TeamID, called) {
		return holder{called, called}, nil
	}
	teams, err := r.teams(ctx, in)
	if err != nil {
		return holder{}, blind(err)
	}
	members, err := r.members(ctx, in)
	if err != nil {
		return holder{}, blind(err)
	}
	var found []holder
	for _, t := range teams {
		if strings.EqualFold(t.Name, called) {
			found = append(found, holder{t.ID, "the team " + t.Name})
		}
	}
	for _, m := range members {
		switch {
		case !is(m, called):
		case m.Invited:
			return holder{}, problem.New(api.Conflict, "%s is invited, and has not signed in yet", page.Visible(called)).
				WithHint("give the role to a team, and put them in it: assize team add TEAM %s", called)
		default:
			found = append(found, holder{m.User, m.Name})
		}
	}
	switch len(found) {
	case 0:
		return holder{}, problem.New(api.NotFound, "there is no team and no member %s in %s", page.Visible(called), page.Visible(in)).
			WithHint("assize team list, assize member list; a user who is no member yet is named by the id that `assize whoami` shows them")
	case 1:
		return found[0], nil
	}
	return holder{}, problem.New(api.Invalid, "%s is a team and a user", page.Visible(called)).WithHint("name one by its id: %s or %s", found[0].id, found[1].id)
}

// is reports whether a member is meant.
func is(m v1.Member, called string) bool {
	return called != "" && (m.ID == called || m.User == called || strings.EqualFold(m.Name, called) || strings.EqualFold(m.Email, called))
}

// blind says what to do who may give roles and not see the members.
func blind(err error) error {
	if code := problem.Code(err); code != api.Forbidden && code != api.NotFound {
		return err
	}
	return problem.New(api.Forbidden, "you may not see who is in the organisation, so nobody can be named").
		WithHint("name a user or a team by the id: `assize whoami` shows users theirs")
}
