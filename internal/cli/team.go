package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
)

func newTeamCmd(g *Globals) *cobra.Command {
	return group("team", "Make teams, and choose who is in them",
		newTeamListCmd(g), newTeamShowCmd(g), newTeamCreateCmd(g), newTeamDeleteCmd(g), newTeamAddCmd(g), newTeamRemoveCmd(g))
}

func newTeamListCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "list", short: "List the teams of an organisation", args: cobra.NoArgs,
		long: `ROLE is what a team may in all of the organisation; "assize grant list" says what it
may elsewhere.

  assize team list
`,
		do: func(ctx context.Context, r *remote, _ []string) error {
			in, err := r.in(ctx)
			if err != nil {
				return err
			}
			all, err := r.teams(ctx, in)
			if err != nil {
				return err
			}
			return show(g, r, all, "NAME,ROLE,MEMBERS,ID", func(t v1.Team) []string {
				return []string{t.Name, t.Role, fmt.Sprint(len(t.Members)), t.ID}
			})
		},
	})
}

// withTeam does something with the team that a word calls.
func withTeam(do func(ctx context.Context, r *remote, in string, t v1.Team, args []string) error) func(context.Context, *remote, []string) error {
	return func(ctx context.Context, r *remote, args []string) error {
		in, err := r.in(ctx)
		if err != nil {
			return err
		}
		t, err := r.team(ctx, in, args[0])
		if err != nil {
			return err
		}
		return do(ctx, r, in, t, args)
	}
}

func newTeamShowCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "show TEAM", short: "Show one team, who is in it and what it may",
		args: exactlyOne("team", "assize team show developers"),
		long: `  assize team show developers
`,
		do: withTeam(func(ctx context.Context, r *remote, in string, t v1.Team, _ []string) error {
			if r.json {
				return page.JSON(g.Out, t)
			}
			grants, err := r.grants(ctx, v1.ListGrants{Organisation: in})
			if err != nil {
				return err
			}
			p := page.New(g.pageOptions())
			p.Line(0, page.Visible(t.Name))
			p.Line(2, "id       "+t.ID)
			for i, m := range t.Members {
				p.Line(2, []string{"members  ", "         "}[min(i, 1)]+who(m.Name, m.Email, m.Invited))
			}
			mine := 0
			for _, g := range grants {
				if g.Holder.ID == t.ID {
					p.Line(2, []string{"may      ", "         "}[min(mine, 1)]+g.Role+" of "+placed(g.Place))
					mine++
				}
			}
			_, err = p.WriteTo(g.Out)
			return err
		}),
	})
}

// who is how somebody is shown.
func who(name, email string, invited bool) string {
	switch {
	case invited:
		return page.Visible(email) + " (invited)"
	case email == "" || strings.EqualFold(name, email):
		return page.Visible(name)
	}
	return page.Visible(name + " <" + email + ">")
}

func newTeamCreateCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "create NAME", short: "Make a team, with nobody in it and no role",
		args: exactlyOne("team", "assize team create developers"),
		long: `  assize team create developers
  assize team add developers bob
  assize grant give planner developers --project networks
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			in, err := r.in(ctx)
			if err != nil {
				return err
			}
			var t v1.Team
			if err := r.Ask(ctx, v1.CreateTeam{Organisation: in, Name: args[0]}, &t); err != nil {
				return err
			}
			return say(g, r, t, "%s is made: %s", t.Name, t.ID)
		},
	})
}

func newTeamDeleteCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "delete TEAM", short: "Delete a team with its roles and its tokens",
		args: exactlyOne("team", "assize team delete developers"),
		long: `Its members stay members of the organisation.

  assize team delete developers
`,
		do: withTeam(func(ctx context.Context, r *remote, _ string, t v1.Team, _ []string) error {
			if err := r.Ask(ctx, v1.DeleteTeam{Team: t.ID}, nil); err != nil {
				return err
			}
			return say(g, r, t, "%s is deleted.", t.Name)
		}),
	})
}

func newTeamAddCmd(g *Globals) *cobra.Command {
	const example = "assize team add developers bob"
	return g.command(asking{
		use: "add TEAM USER", short: "Add somebody to a team", args: both("a team", "a user", example),
		long: `USER is a member's name, address or id, or the id of a user who is a member of the
organisation from then on: "assize whoami" shows users theirs.

  ` + example + `
`,
		do: withTeam(func(ctx context.Context, r *remote, in string, t v1.Team, args []string) error {
			m := v1.Member{ID: args[1], Name: args[1]}
			if !identity.IsID(identity.UserID, args[1]) {
				var err error
				if m, err = r.member(ctx, in, args[1]); err != nil {
					return err
				}
			}
			if err := r.Ask(ctx, v1.AddToTeam{Team: t.ID, Member: m.ID}, nil); err != nil {
				return err
			}
			return g.teamNow(ctx, r, t, who(m.Name, m.Email, m.Invited)+" is in "+t.Name)
		}),
	})
}

// teamNow says what was done to a team, and shows programs what it is now.
func (g *Globals) teamNow(ctx context.Context, r *remote, t v1.Team, done string) error {
	if r.json {
		if err := r.Ask(ctx, v1.ShowTeam{Team: t.ID}, &t); err != nil {
			return err
		}
	}
	return say(g, r, t, "%s.", done)
}

func newTeamRemoveCmd(g *Globals) *cobra.Command {
	const example = "assize team remove developers bob"
	return g.command(asking{
		use: "remove TEAM USER", short: "Take somebody out of a team", args: both("a team", "a user", example),
		long: `A member of the organisation they stay.

  ` + example + `
`,
		do: withTeam(func(ctx context.Context, r *remote, _ string, t v1.Team, args []string) error {
			for _, m := range t.Members {
				if !is(v1.Member{ID: m.ID, User: m.User, Name: m.Name, Email: m.Email}, args[1]) {
					continue
				}
				if err := r.Ask(ctx, v1.RemoveFromTeam{Team: t.ID, Member: m.ID}, nil); err != nil {
					return err
				}
				return g.teamNow(ctx, r, t, who(m.Name, m.Email, m.Invited)+" is in "+t.Name+" no longer")
			}
			return problem.New(api.NotFound, "there is no %s in the team %s", page.Visible(args[1]), page.Visible(t.Name)).
				WithHint("assize team show %s", args[0])
		}),
	})
}
