package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
)

func newTokenCmd(g *Globals) *cobra.Command {
	return group("token", "Make, list and revoke tokens of a server",
		newTokenListCmd(g), newTokenCreateCmd(g), newTokenRevokeCmd(g))
}

func newTokenListCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var owner string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tokens, without what would let anybody use them",
		Long: `List your tokens, or those of a team or an organisation, without what would let
anybody use them.

  assize token list
  assize token list --owner acme
` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			owner, err := r.owner(cmd.Context(), owner)
			if err != nil {
				return err
			}
			tokens, err := gather[v1.Token](cmd.Context(), r, 0, func(p v1.Paging) binding.Request {
				return v1.ListTokens{Owner: owner, Paging: p}
			})
			if err != nil {
				return err
			}
			return show(g, r, tokens, "ID,KIND,CREATED,EXPIRES,DESCRIPTION", func(t v1.Token) []string {
				return []string{t.ID, t.Kind, moment(t.Created), moment(t.Expires), t.Description}
			})
		},
	}
	r.flags(cmd)
	r.printing(cmd)
	cmd.Flags().StringVar(&owner, "owner", "", "name of an organisation or of a team, or the id of one: `OWNER` instead of you")
	return cmd
}

func newTokenCreateCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var in v1.CreateToken
	var lasts time.Duration
	cmd := &cobra.Command{
		Use:   "create DESCRIPTION",
		Short: "Make a token, and show it this once",
		Long: `Make a token, and print it: nothing ever shows it again. It is all that there is on
standard output, so that a program can take it. With it you act as yourself; with
that of a team or an organisation, the token acts.

  assize token create "for the nightly job" --expires-in 720h > token
  assize token create "CI" --owner acme --role applier
  assize token create "CI" --owner developers
` + exitHelp,
		Args: exactlyOne("purpose of the token", `assize token create "for the nightly job"`),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Description = args[0]
			if cmd.Flags().Changed("expires-in") {
				if lasts <= 0 {
					return problem.New(api.Invalid, "--expires-in is a time to come").WithHint("--expires-in 720h")
				}
				in.Expires = g.Now().Add(lasts)
			}
			return g.tokenCreate(cmd.Context(), r, in)
		},
	}
	r.flags(cmd)
	r.printing(cmd)
	cmd.Flags().StringVar(&in.Owner, "owner", "", "name of an organisation or of a team, or the id of one: `OWNER` instead of you")
	cmd.Flags().StringVar(&in.Role, "role", "", "`ROLE` of the token of an organisation: reader, planner, applier, maintainer or owner")
	cmd.Flags().DurationVar(&lasts, "expires-in", 0, "how long it is good for, such as 720h; without it, it does not expire")
	return cmd
}

func (g *Globals) tokenCreate(ctx context.Context, r *remote, in v1.CreateToken) error {
	var err error
	if in.Owner, err = r.owner(ctx, in.Owner); err != nil {
		return err
	}
	var made v1.Token
	if err := r.Ask(ctx, in, &made); err != nil {
		return err
	}
	if r.json {
		return page.JSON(g.Out, made)
	}
	fmt.Fprintf(g.Err, "The token %s is made. It is shown this once:\n", made.ID)
	_, err = fmt.Fprintln(g.Out, made.Token)
	return err
}

// owner is the id of whom somebody calls by an id, or by the name of an organisation or
// of a team. An organisation comes first: a team of the same name is called by its id.
func (r *remote) owner(ctx context.Context, called string) (string, error) {
	if err := r.connect(); err != nil {
		return "", err
	}
	for _, prefix := range []string{identity.UserID, identity.TeamID, identity.OrganisationID} {
		if called == "" || identity.IsID(prefix, called) {
			return called, nil
		}
	}
	all, err := gather[v1.Organisation](ctx, r, 0, func(p v1.Paging) binding.Request { return v1.ListOrganisations{Paging: p} })
	if err != nil {
		return "", err
	}
	for _, o := range all {
		if strings.EqualFold(o.Name, called) {
			return o.ID, nil
		}
	}
	if id, err := r.teamOwner(ctx, called); id != "" || err != nil {
		return id, err
	}
	return "", problem.New(api.NotFound, "there is no organisation and no team %s, or you may not see it", page.Visible(called)).
		WithHint("--owner takes the name of an organisation or of a team in yours, or an id; assize organisation list, assize team list")
}

// teamOwner is the id of the team of this name, if one can be seen.
func (r *remote) teamOwner(ctx context.Context, called string) (string, error) {
	in, err := r.in(ctx)
	if err != nil {
		return "", err
	}
	teams, err := r.teams(ctx, in)
	if code := problem.Code(err); err != nil && code != api.Forbidden && code != api.NotFound {
		return "", err
	}
	for _, t := range teams {
		if strings.EqualFold(t.Name, called) {
			return t.ID, nil
		}
	}
	return "", nil
}

func newTokenRevokeCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a token",
		Long: `Revoke a token by its id: from now on it is of no use. assize token list has the ids.

  assize token revoke tok_1V0c...
` + exitHelp,
		Args: exactlyOne("token", "assize token revoke tok_1V0c..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.connect(); err != nil {
				return err
			}
			if err := r.Ask(cmd.Context(), v1.RevokeToken{Token: args[0]}, nil); err != nil {
				return err
			}
			_, err := fmt.Fprintf(g.Out, "%s is revoked.\n", args[0])
			return err
		},
	}
	r.flags(cmd)
	return cmd
}
