package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
)

func newWhoamiCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "whoami", short: "Say who you are to a server, and what you may where", args: cobra.NoArgs, site: true,
		long: `What a role may says docs/identity.md, rule 3; with --json it stands beside each.

  assize whoami
`,
		do: func(ctx context.Context, r *remote, _ []string) error {
			var me v1.Caller
			if err := r.Ask(ctx, v1.Whoami{}, &me); err != nil {
				return err
			}
			if r.json {
				return page.JSON(g.Out, me)
			}
			return g.whoami(r, me)
		},
	})
}

func (g *Globals) whoami(r *remote, me v1.Caller) error {
	p := page.New(g.pageOptions())
	p.Line(0, page.Visible(me.Name)+" on "+r.Address())
	p.Line(2, "id     "+me.ID)
	if me.Email != "" {
		p.Line(2, "email  "+page.Visible(me.Email))
	}
	if me.SiteAdmin {
		p.Line(2, "administers this server: assize organisation create, assize administrator list")
	}
	if len(me.Grants) == 0 {
		p.Line(2, "has no role here yet: an owner of an organisation can give one, with the id above")
	}
	if _, err := p.WriteTo(g.Out); err != nil || len(me.Grants) == 0 {
		return err
	}
	return show(g, r, me.Grants, "ROLE,WHERE,THROUGH", func(g v1.Grant) []string {
		through := ""
		if g.Holder.ID != me.ID {
			through = called(g.Holder)
		}
		return []string{g.Role, placed(g.Place), through}
	})
}

func newAdministratorCmd(g *Globals) *cobra.Command {
	return group("administrator", "Say who administers a server: makes organisations and appoints others",
		newAdministratorListCmd(g), newAdministratorAppointCmd(g), newAdministratorDismissCmd(g))
}

func newAdministratorListCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "list", short: "List who administers the server", args: cobra.NoArgs, site: true,
		long: `  assize administrator list
`,
		do: func(ctx context.Context, r *remote, _ []string) error {
			all, err := r.administrators(ctx)
			if err != nil {
				return err
			}
			return show(g, r, all, "NAME,ID", func(p v1.Principal) []string { return []string{p.Name, p.ID} })
		},
	})
}

func (r *remote) administrators(ctx context.Context) ([]v1.Principal, error) {
	return gather[v1.Principal](ctx, r, 0, func(p v1.Paging) binding.Request { return v1.ListAdministrators{Paging: p} })
}

func newAdministratorAppointCmd(g *Globals) *cobra.Command {
	const example = "assize administrator appoint bob"
	return g.command(asking{
		use: "appoint USER", short: "Let a user administer the server", args: exactlyOne("user", example),
		long: `USER is an id, which "assize whoami" shows them, or the name or address of a member of
your organisation.

  ` + example + `
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			who := holder{args[0], args[0]}
			if !identity.IsID(identity.UserID, args[0]) {
				in, err := r.in(ctx)
				if err != nil {
					return err
				}
				if who, err = r.holder(ctx, in, args[0]); err != nil {
					return err
				}
			}
			if err := r.Ask(ctx, v1.AppointAdministrator{User: who.id}, nil); err != nil {
				return err
			}
			return say(g, r, v1.Named{ID: who.id, Name: who.name}, "%s administers the server.", who.name)
		},
	})
}

func newAdministratorDismissCmd(g *Globals) *cobra.Command {
	const example = "assize administrator dismiss bob"
	return g.command(asking{
		use: "dismiss USER", short: "Let a user administer the server no longer", args: exactlyOne("user", example), site: true,
		long: `USER is a name or an id that "assize administrator list" shows. The last one stays.

  ` + example + `
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			all, err := r.administrators(ctx)
			if err != nil {
				return err
			}
			for _, p := range all {
				if p.ID != args[0] && p.Name != args[0] {
					continue
				}
				if err := r.Ask(ctx, v1.DismissAdministrator{User: p.ID}, nil); err != nil {
					return err
				}
				return say(g, r, p, "%s administers the server no longer.", p.Name)
			}
			return problem.New(api.NotFound, "there is no administrator %s", page.Visible(args[0])).WithHint("assize administrator list")
		},
	})
}
