package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
)

func newGrantCmd(g *Globals) *cobra.Command {
	return group("grant", "Say who may what: give and take roles",
		newGrantListCmd(g), newGrantGiveCmd(g), newGrantTakeCmd(g))
}

// A spot is where a role holds, as somebody types it.
type spot struct {
	stack, project string
	everywhere     bool
}

func (s *spot) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.stack, "stack", "", "`STACK` for which it is")
	cmd.Flags().StringVar(&s.project, "project", "", "`PROJECT` for which it is, with all its stacks")
}

// find is the organisation, and the ids of what was named in it.
func (s *spot) find(ctx context.Context, r *remote) (in, project, stack string, err error) {
	if s.stack != "" && s.project != "" {
		return "", "", "", problem.New(api.Invalid, "a stack and a project were named").WithHint("a stack is in one project: name it alone")
	}
	if organisation, _, ok := strings.Cut(s.stack, "/"); ok {
		r.organisation = organisation
	}
	if in, err = r.in(ctx); err != nil {
		return "", "", "", err
	}
	switch {
	case s.stack != "":
		found, err := r.stack(ctx, s.stack)
		return in, "", found.ID, err
	case s.project != "":
		found, err := r.project(ctx, in, s.project)
		return in, found.ID, "", err
	}
	return in, "", "", nil
}

func (r *remote) grants(ctx context.Context, of v1.ListGrants) ([]v1.Grant, error) {
	return gather[v1.Grant](ctx, r, 0, func(p v1.Paging) binding.Request { of.Paging = p; return of })
}

// placed is how a place is shown: acme, acme/network, or acme with a project of it.
func placed(p v1.Place) string {
	switch {
	case p.Stack != nil:
		return page.Visible(p.Organisation.Name + "/" + p.Stack.Name)
	case p.Project != nil:
		return page.Visible(p.Organisation.Name + ", project " + p.Project.Name)
	}
	return page.Visible(p.Organisation.Name)
}

// called is how the holder of a role is shown.
func called(h v1.Holder) string {
	if h.Kind == "user" {
		return h.Name
	}
	return h.Kind + " " + h.Name
}

func newGrantListCmd(g *Globals) *cobra.Command {
	var at spot
	cmd := g.command(asking{
		use: "list", short: "List who may what in an organisation, a project or a stack", args: cobra.NoArgs,
		long: `A role holds where it was given and in all that is below, so of a stack the roles for
its project and for the organisation are shown, too, as far as you may see those.
Members of a team shows "assize team show", and what a role may docs/identity.md, rule
3.

  assize grant list
  assize grant list --stack network-prod
`,
		do: func(ctx context.Context, r *remote, _ []string) error {
			in, project, stack, err := at.find(ctx, r)
			if err != nil {
				return err
			}
			all, err := r.grants(ctx, v1.ListGrants{Organisation: in, Project: project, Stack: stack})
			if err != nil {
				return err
			}
			return show(g, r, all, "ROLE,WHO,WHERE,ID", func(g v1.Grant) []string {
				return []string{g.Role, called(g.Holder), placed(g.Place), g.Holder.ID}
			})
		},
	})
	at.flags(cmd)
	return cmd
}

const givingHelp = `ROLE is one of reader, planner, applier, maintainer and owner; each may what the one
before it may. WHO is the name of a team, or a member's name or address, or the id of
a team or of any user. Say where: for one stack, for a project with all its stacks, or
everywhere in the organisation. Nobody gives or takes what is more than they have
there themselves.

`

// giving is a command that gives or takes a role.
func giving(g *Globals, a asking, example string, do func(ctx context.Context, r *remote, in v1.GiveGrant, to holder) error) *cobra.Command {
	var at spot
	a.args = both("a role", "a user or a team", example)
	a.do = func(ctx context.Context, r *remote, args []string) error {
		if !slices.Contains(identity.Roles(), identity.Role(args[0])) {
			return problem.New(api.Invalid, "there is no role %s", page.Visible(args[0])).
				WithHint("roles are reader, planner, applier, maintainer and owner, and come first: %s", example)
		}
		if !at.everywhere && at.stack == "" && at.project == "" {
			return problem.New(api.Invalid, "it was not said where").WithHint("--stack STACK, --project PROJECT, or --everywhere in the organisation")
		}
		in, project, stack, err := at.find(ctx, r)
		if err != nil {
			return err
		}
		to, err := r.holder(ctx, in, args[1])
		if err != nil {
			return err
		}
		return do(ctx, r, v1.GiveGrant{Organisation: in, Role: args[0], Holder: to.id, Project: project, Stack: stack}, to)
	}
	cmd := g.command(a)
	at.flags(cmd)
	cmd.Flags().BoolVar(&at.everywhere, "everywhere", false, "in the whole organisation")
	cmd.MarkFlagsMutuallyExclusive("stack", "project", "everywhere")
	return cmd
}

func newGrantGiveCmd(g *Globals) *cobra.Command {
	const example = "assize grant give applier developers --stack network-prod"
	return giving(g, asking{
		use: "give ROLE WHO", short: "Give a user or a team a role somewhere, instead of the one that they had there",
		long: givingHelp + `  ` + example + `
  assize grant give planner bob --project networks
`,
	}, example, func(ctx context.Context, r *remote, in v1.GiveGrant, to holder) error {
		var given v1.Grant
		if err := r.Ask(ctx, in, &given); err != nil {
			return err
		}
		return say(g, r, given, "%s is %s of %s.", to.name, given.Role, placed(given.Place))
	})
}

func newGrantTakeCmd(g *Globals) *cobra.Command {
	const example = "assize grant take applier developers --stack network-prod"
	return giving(g, asking{
		use: "take ROLE WHO", short: "Take a role away from a user or a team",
		long: givingHelp + `  ` + example + `
`,
	}, example, func(ctx context.Context, r *remote, in v1.GiveGrant, to holder) error {
		err := r.Ask(ctx, v1.TakeGrant(in), nil)
		if problem.Code(err) == api.NotFound {
			return problem.New(api.NotFound, "%s has no role %s there, or you may not see it", page.Visible(to.name), in.Role).
				WithHint("assize grant list says who has which role where")
		}
		if err != nil {
			return err
		}
		return say(g, r, in, "%s is not %s there any more.", to.name, in.Role)
	})
}
