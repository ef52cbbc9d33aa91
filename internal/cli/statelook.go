package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/state/document"
)

// This file is about what the state of a stack of this checkout holds. Nothing that
// is printed here is a secret (docs/spec.md, rule 31).

func newStateListCmd(g *Globals) *cobra.Command {
	var at where
	cmd := &cobra.Command{
		Use:   "list [STACK]",
		Short: "List what the state of a stack holds",
		Long: `List what the state of a stack holds: paths in CUE for a specification, else the
tool's addresses.

  assize state list
  assize state list infra/network:prod
` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at.key = word(args, 0)
			return g.look(cmd.Context(), at, func(s *document.State) error {
				for _, r := range s.Document.Resources {
					left := ""
					if r.Deposed != "" {
						left = " (deposed " + r.Deposed + ")"
					}
					fmt.Fprintf(g.Out, "%s\n", page.Visible(r.Addr+left))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&at.dir, "chdir", "C", ".", "work in `DIR`")
	return cmd
}

func newStateShowCmd(g *Globals) *cobra.Command {
	var at where
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ADDRESS [STACK]",
		Short: "Show one object of the state of a stack",
		Long: `Show one object of the state of a stack, without what is sensitive. In a specification
ADDRESS is its path in CUE.

  assize state show web.front
  assize state show 'aws_instance.web[0]' infra/network:prod --json
` + exitHelp,
		Args: words("an address", 1, "assize state show web.front"),
		RunE: func(cmd *cobra.Command, args []string) error {
			at.key = word(args, 1)
			return g.look(cmd.Context(), at, func(s *document.State) error {
				found, err := s.Find(args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return page.JSON(g.Out, found.Object)
				}
				return g.showHeld(found.Object)
			})
		},
	}
	cmd.Flags().StringVarP(&at.dir, "chdir", "C", ".", "work in `DIR`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

// showHeld prints an object for people; what is null is left out.
func (g *Globals) showHeld(r api.Held) error {
	tainted := ""
	if r.Tainted {
		tainted = ", tainted"
	}
	fmt.Fprintf(g.Out, "%s\n", page.Visible(fmt.Sprintf("%s: %s of %s%s", r.Addr, r.Type, r.Provider, tainted)))
	width := 0
	maps.DeleteFunc(r.Values, func(k string, v any) bool { return v == nil })
	for k := range r.Values {
		width = max(width, len(k))
	}
	for _, k := range slices.Sorted(maps.Keys(r.Values)) {
		fmt.Fprintf(g.Out, "  %s\n", page.Visible(fmt.Sprintf("%-*s = %s", width, k, document.Text(r.Values[k]))))
	}
	return nil
}

const stateQueryHelp = `Evaluate an expression of CUE over the state of a stack, and print what it comes to as
JSON. The document has these fields:

  format, lineage, serial
  resources: [{addr, mode, type, name, provider, values: {...}}, ...]
  outputs: {NAME: VALUE, ...}

Packages of CUE's standard library are there by their names, without an import. A
sensitive value is {"$sensitive": true} before the expression is evaluated: it
cannot be shown or compared.

  assize state query '[for r in resources {r.addr}]'
  assize state query '[for r in resources if r.type == "random_pet" {r.values.id}]'
  assize state query 'strings.ToUpper(outputs.region)' infra/network:prod
`

func newStateQueryCmd(g *Globals) *cobra.Command {
	var at where
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "query EXPR [STACK]",
		Short: "Evaluate an expression of CUE over the state of a stack",
		Long:  stateQueryHelp + exitHelp,
		Args:  words("an expression", 1, "assize state query '[for r in resources {r.addr}]'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			at.key = word(args, 1)
			return g.look(cmd.Context(), at, func(s *document.State) error {
				out, err := policy.Query(g.Engines, api.CUE, args[0], s.JSON())
				if err != nil {
					return err
				}
				return page.JSON(g.Out, json.RawMessage(out))
			})
		},
	}
	cmd.Flags().StringVarP(&at.dir, "chdir", "C", ".", "work in `DIR`")
	cmd.Flags().BoolVar(&asJSON, "json", true, "print JSON; there is no other form yet")
	return cmd
}

// look reads the state of one stack. What the tool says on the way is no result.
func (g *Globals) look(ctx context.Context, at where, do func(*document.State) error) error {
	t, stack, err := at.place(g, settings.Plan)
	if err != nil {
		return err
	}
	ctx, sig, stop := listen(ctx)
	defer stop()
	w := g.alone(stack, sig, filepath.Base(t.dir()), true)
	defer w.progress.stop()
	stack.Session.Terse = true
	if err := stack.Equip(ctx); err != nil {
		return err
	}
	s, err := stack.State(ctx)
	if err != nil {
		return err
	}
	w.progress.step("")
	return do(s)
}
