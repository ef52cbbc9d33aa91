package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
)

func newMemberCmd(g *Globals) *cobra.Command {
	return group("member", "Invite people to an organisation, and remove them",
		newMemberListCmd(g), newMemberInviteCmd(g), newMemberCreateCmd(g), newMemberRemoveCmd(g))
}

func newMemberListCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "list", short: "List the members of an organisation, and who is invited", args: cobra.NoArgs,
		long: `  assize member list
`,
		do: func(ctx context.Context, r *remote, _ []string) error {
			in, err := r.in(ctx)
			if err != nil {
				return err
			}
			all, err := r.members(ctx, in)
			if err != nil {
				return err
			}
			return show(g, r, all, "NAME,EMAIL,TEAMS,SINCE,ID", func(m v1.Member) []string {
				var teams []string
				for _, t := range m.Teams {
					teams = append(teams, t.Name)
				}
				name := m.Name
				if m.Invited {
					name = "(invited)"
				}
				return []string{name, m.Email, strings.Join(teams, ", "), moment(m.Created), m.ID}
			})
		},
	})
}

func newMemberInviteCmd(g *Globals) *cobra.Command {
	var teams []string
	cmd := g.command(asking{
		use: "invite EMAIL", short: "Invite whoever proves that an address is theirs",
		args: exactlyOne("address", "assize member invite bob@example.com --team developers"),
		long: `They are a member as soon as they sign in with a provider that says so. No mail is
sent: tell them. Without a provider, "assize member create" makes a user.

  assize member invite bob@example.com --team developers
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			if !strings.Contains(args[0], "@") {
				return problem.New(api.Invalid, "%s is no e-mail address", page.Visible(args[0])).
					WithHint("somebody who is a user already: assize team add TEAM USER; a new user without a provider: assize member create %s", args[0])
			}
			in, err := r.in(ctx)
			if err != nil {
				return err
			}
			ids, err := r.teamIDs(ctx, in, teams)
			if err != nil {
				return err
			}
			var m v1.Member
			if err := r.Ask(ctx, v1.InviteMember{Organisation: in, Email: args[0], Teams: ids}, &m); err != nil {
				return err
			}
			return say(g, r, m, "%s is invited to %s. Tell them to sign in: tofu login %s", m.Email, in, host(r))
		},
	})
	teamsFlag(cmd, &teams)
	return cmd
}

// host is the server as tofu calls it.
func host(r *remote) string {
	_, host, _ := strings.Cut(r.Address(), "://")
	return host
}

func teamsFlag(cmd *cobra.Command, teams *[]string) {
	cmd.Flags().StringArrayVar(teams, "team", nil, "`TEAM` to be in from the beginning; may be repeated")
}

// teamIDs are the teams that were named.
func (r *remote) teamIDs(ctx context.Context, in string, called []string) ([]string, error) {
	var ids []string
	for _, name := range called {
		t, err := r.team(ctx, in, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, t.ID)
	}
	return ids, nil
}

// firstTokenLasts is how long the first token of a user is good for: as long as one
// that comes of signing in (docs/server.md, rule 13).
const firstTokenLasts = 30 * 24 * time.Hour

func newMemberCreateCmd(g *Globals) *cobra.Command {
	var teams []string
	var lasts time.Duration
	cmd := g.command(asking{
		use: "create NAME", short: "Make a user, with a first token",
		args: exactlyOne("user", "assize member create bob --team developers > bob.token"),
		long: `It is for servers where nobody signs in with a provider, and needs you to administer
the server and own the organisation. The token is all that there is on standard
output, and nothing ever shows it again. Hand it over where nobody else reads it; they
keep it with "assize login".

  assize member create bob --team developers > bob.token
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			if lasts <= 0 {
				return problem.New(api.Invalid, "--expires-in is a time to come").WithHint("--expires-in 720h")
			}
			in, err := r.in(ctx)
			if err != nil {
				return err
			}
			ids, err := r.teamIDs(ctx, in, teams)
			if err != nil {
				return err
			}
			var m v1.Member
			if err := r.Ask(ctx, v1.CreateMember{Organisation: in, Name: args[0], Teams: ids, Expires: g.Now().Add(lasts)}, &m); err != nil {
				return err
			}
			if r.json {
				return page.JSON(g.Out, m)
			}
			fmt.Fprintf(g.Err, "The user %s is made, a member of %s: %s\nThe first token is shown this once. With it they type: assize login %s\n",
				page.Visible(m.Name), page.Visible(in), m.User, r.Address())
			_, err = fmt.Fprintln(g.Out, m.Token)
			return err
		},
	})
	teamsFlag(cmd, &teams)
	cmd.Flags().DurationVar(&lasts, "expires-in", firstTokenLasts, "how long the token is good for")
	return cmd
}

func newMemberRemoveCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "remove MEMBER", short: "End a membership or an invitation, and all roles in the organisation that come with it",
		args: exactlyOne("member", "assize member remove bob"),
		long: `MEMBER is a name, an address or an id. Tokens of teams and of the organisation stay,
with all that those may, also where this member has made them: revoke what they know
(assize token list --owner).

  assize member remove bob
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			in, err := r.in(ctx)
			if err != nil {
				return err
			}
			m, err := r.member(ctx, in, args[0])
			if err != nil {
				return err
			}
			if err := r.Ask(ctx, v1.RemoveMember{Member: m.ID}, nil); err != nil {
				return err
			}
			return say(g, r, m, "%s is no member of %s any more.", who(m.Name, m.Email, m.Invited), in)
		},
	})
}
