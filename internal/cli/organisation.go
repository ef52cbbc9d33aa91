package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/report/page"
)

func newOrganisationCmd(g *Globals) *cobra.Command {
	return group("organisation", "Make, show and delete organisations of a server",
		newOrganisationListCmd(g), newOrganisationShowCmd(g), newOrganisationCreateCmd(g), newOrganisationDeleteCmd(g))
}

func newOrganisationListCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "list", short: "List the organisations that you have a role in", args: cobra.NoArgs, site: true,
		long: `  assize organisation list
`,
		do: func(ctx context.Context, r *remote, _ []string) error {
			all, err := gather[v1.Organisation](ctx, r, 0, func(p v1.Paging) binding.Request { return v1.ListOrganisations{Paging: p} })
			if err != nil {
				return err
			}
			return show(g, r, all, "NAME,ID,SINCE", func(o v1.Organisation) []string { return []string{o.Name, o.ID, moment(o.Created)} })
		},
	})
}

func newOrganisationShowCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "show [NAME]", short: "Show one organisation", args: cobra.MaximumNArgs(1),
		long: `  assize organisation show acme
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			in, err := r.named(ctx, args)
			if err != nil {
				return err
			}
			return g.organisationShow(ctx, r, in)
		},
	})
}

// named is the organisation that was named as a word, or as for any other command.
func (r *remote) named(ctx context.Context, args []string) (string, error) {
	if name := word(args, 0); name != "" {
		return name, nil
	}
	return r.in(ctx)
}

func (g *Globals) organisationShow(ctx context.Context, r *remote, in string) error {
	var o v1.Organisation
	if err := r.Ask(ctx, v1.ShowOrganisation{Organisation: in}, &o); err != nil {
		return err
	}
	if r.json {
		return page.JSON(g.Out, o)
	}
	projects, err := r.projects(ctx, in)
	if err != nil {
		return err
	}
	teams, err := r.teams(ctx, in)
	if err != nil {
		return err
	}
	members, err := r.members(ctx, in)
	if err != nil {
		return err
	}
	p := page.New(g.pageOptions())
	p.Line(0, page.Visible(o.Name))
	p.Line(2, "id        "+o.ID)
	p.Line(2, "since     "+moment(o.Created))
	p.Line(2, fmt.Sprintf("members   %d: assize member list", len(members)))
	p.Line(2, fmt.Sprintf("teams     %d: assize team list", len(teams)))
	p.Line(2, fmt.Sprintf("projects  %d: assize project list", len(projects)))
	_, err = p.WriteTo(g.Out)
	return err
}

func newOrganisationCreateCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "create NAME", short: "Make an organisation, which is yours then", site: true,
		args: exactlyOne("organisation", "assize organisation create acme"),
		long: `You are the first of its team owners. Only who administers the server can.

  assize organisation create acme
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			var o v1.Organisation
			if err := r.Ask(ctx, v1.CreateOrganisation{Name: args[0]}, &o); err != nil {
				return err
			}
			return say(g, r, o, "%s is made: %s\nTo go on with it: export %s=%s", o.Name, o.ID, serverOrganisation, o.Name)
		},
	})
}

func newOrganisationDeleteCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "delete NAME", short: "Delete an organisation with all that is in it", site: true,
		args: exactlyOne("organisation", "assize organisation delete acme"),
		long: `It is refused while a stack has a state: delete those stacks first.

  assize organisation delete acme
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			var o v1.Organisation
			if err := r.Ask(ctx, v1.ShowOrganisation{Organisation: args[0]}, &o); err != nil {
				return err
			}
			if err := r.Ask(ctx, v1.DeleteOrganisation{Organisation: args[0]}, nil); err != nil {
				return err
			}
			return say(g, r, o, "%s is deleted.", o.Name)
		},
	})
}

func newProjectCmd(g *Globals) *cobra.Command {
	return group("project", "Make, list and delete projects of an organisation",
		newProjectListCmd(g), newProjectCreateCmd(g), newProjectDeleteCmd(g))
}

func newProjectListCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "list", short: "List the projects of an organisation that you may see", args: cobra.NoArgs,
		long: `  assize project list
`,
		do: func(ctx context.Context, r *remote, _ []string) error {
			in, err := r.in(ctx)
			if err != nil {
				return err
			}
			all, err := r.projects(ctx, in)
			if err != nil {
				return err
			}
			return show(g, r, all, "NAME,ID", func(p v1.Project) []string { return []string{p.Name, p.ID} })
		},
	})
}

func newProjectCreateCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "create NAME", short: "Make a project, which holds stacks",
		args: exactlyOne("project", "assize project create networks"),
		long: `A role for a project is one for all its stacks.

  assize project create networks
  assize stack create network-prod --project networks
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			in, err := r.in(ctx)
			if err != nil {
				return err
			}
			var p v1.Project
			if err := r.Ask(ctx, v1.CreateProject{Organisation: in, Name: args[0]}, &p); err != nil {
				return err
			}
			return say(g, r, p, "%s is made: %s", p.Name, p.ID)
		},
	})
}

func newProjectDeleteCmd(g *Globals) *cobra.Command {
	return g.command(asking{
		use: "delete PROJECT", short: "Delete a project that no stack is in",
		args: exactlyOne("project", "assize project delete networks"),
		long: `PROJECT is its name or its id.

  assize project delete networks
`,
		do: func(ctx context.Context, r *remote, args []string) error {
			in, err := r.in(ctx)
			if err != nil {
				return err
			}
			p, err := r.project(ctx, in, args[0])
			if err != nil {
				return err
			}
			if err := r.Ask(ctx, v1.DeleteProject{Project: p.ID}, nil); err != nil {
				return err
			}
			return say(g, r, p, "%s is deleted.", p.Name)
		},
	})
}
