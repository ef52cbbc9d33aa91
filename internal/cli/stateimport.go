package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/origin"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
)

const stateImportHelp = `Take over states that were kept elsewhere until now, with their serial and lineage.
SOURCE is a file, an object of S3, or a workspace of a server that speaks the protocol
of Terraform Cloud; without its workspace, all of an organisation, each into the stack
of its name. Stacks that there are not yet are made.

  assize state import network-prod terraform.tfstate
  assize state import network-prod "s3://states/prod/network.tfstate?region=eu-central-1"
  assize state import network-prod tfe://app.terraform.io/acme/network-prod
  assize state import tfe://app.terraform.io/acme --dry-run
  assize state import --list states.txt          a line for each: STACK SOURCE

What is there already is not imported twice: after an interruption, run the same again.
A state that does not follow the one that is there is refused, unless by --force. The
token of the other server is ASSIZE_IMPORT_TOKEN, or TF_TOKEN_<host>; that of S3 is
found the way that all its clients do. Nothing is changed where a state comes from:
see to it that nobody writes it there any more.
`

// An importing is what somebody wants of an import.
type importing struct {
	remote
	list     string
	dryRun   bool
	force    bool
	parallel int
}

func newStateImportCmd(g *Globals) *cobra.Command {
	im := &importing{remote: remote{g: g}}
	cmd := &cobra.Command{
		Use:   "import [STACK] SOURCE",
		Short: "Take over states that were kept elsewhere",
		Long:  stateImportHelp + exitHelp,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, _, stop := interruptible(cmd.Context())
			defer stop()
			return g.stateImport(ctx, im, args)
		},
	}
	im.flags(cmd)
	im.printing(cmd)
	cmd.Flags().StringVar(&im.list, "list", "", "`FILE` with a line for each state: STACK SOURCE")
	cmd.Flags().BoolVar(&im.dryRun, "dry-run", false, "read the states and say what would become of them, and change nothing")
	cmd.Flags().BoolVar(&im.force, "force", false, "even over states that they do not follow")
	cmd.Flags().IntVar(&im.parallel, "parallel", 4, "so many at once")
	return cmd
}

// A wanted is one state, and the stack that it is for.
type wanted struct {
	stack string
	origin.State
}

func (g *Globals) stateImport(ctx context.Context, im *importing, args []string) error {
	if im.parallel < 1 || im.parallel > 64 {
		return problem.New(api.Invalid, "--parallel is a number from 1 to 64").WithHint("--parallel 4")
	}
	if _, err := im.in(ctx); err != nil {
		return err
	}
	all, err := im.wanted(ctx, args)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return problem.New(api.NotFound, "there is no state to import").WithHint("look at the place that you named: may the token see what is there?")
	}
	results := g.importAll(ctx, im, all)
	if im.json {
		if err := page.JSON(g.Out, results); err != nil {
			return err
		}
	}
	return failed(results)
}

// wanted are the states that the arguments and the list name. No stack is wanted
// twice: which of two states it had in the end would be chance.
func (im *importing) wanted(ctx context.Context, args []string) ([]wanted, error) {
	var all []wanted
	var err error
	switch {
	case im.list != "" && len(args) == 0:
		all, err = im.listed(ctx)
	case im.list == "" && len(args) == 2:
		all, err = find(ctx, args[0], args[1])
	case im.list == "" && len(args) == 1:
		all, err = find(ctx, "", args[0])
	default:
		err = problem.New(api.Invalid, "import wants a stack and a source, a source of many, or --list").
			WithHint("assize state import network-prod terraform.tfstate; more in assize state import --help")
	}
	seen := map[string]string{}
	for _, w := range all {
		key := strings.ToLower(w.stack)
		if seen[key] != "" {
			return nil, problem.New(api.Invalid, "two states are for the stack %s: %s and %s", w.stack, seen[key], w.Source).WithHint("choose one of them")
		}
		seen[key] = w.Source
		if err := identity.StackName().Check(w.stack); err != nil {
			return nil, problem.New(api.Invalid, "%s cannot become the stack %s: %w", w.Source, page.Visible(w.stack), err).
				WithHint("name another stack for it: assize state import STACK SOURCE")
		}
	}
	return all, err
}

// find is what there is at a source, for the stack that was named or for those
// that are called as it is there.
func find(ctx context.Context, stack, source string) ([]wanted, error) {
	states, err := origin.Find(ctx, source, os.Getenv)
	if err != nil {
		return nil, err
	}
	if stack != "" && len(states) != 1 {
		return nil, problem.New(api.Invalid, "%s are many states, and %s is one stack", source, stack).
			WithHint("leave out the stack, or name a workspace: %s/WORKSPACE", source)
	}
	var all []wanted
	for _, s := range states {
		w := wanted{stack: stack, State: s}
		if stack == "" {
			w.stack = s.Name
		}
		if w.stack == "" {
			return nil, problem.New(api.Invalid, "no stack was named for %s", s.Source).WithHint("assize state import STACK %s", s.Source)
		}
		all = append(all, w)
	}
	return all, nil
}

// listed are the states that the list names.
func (im *importing) listed(ctx context.Context) ([]wanted, error) {
	f, err := os.Open(im.list)
	if err != nil {
		return nil, problem.New(api.Invalid, "the list cannot be read: %w", err).WithHint("--list names a file with a line for each state: STACK SOURCE")
	}
	defer f.Close()
	var all []wanted
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		stack, source, ok := strings.Cut(line, " ")
		if !ok {
			return nil, problem.New(api.Invalid, "%s, line %d: there is no source", im.list, n).WithHint("a line is: STACK SOURCE")
		}
		found, err := find(ctx, stack, strings.TrimSpace(source))
		if err != nil {
			return nil, problem.New(problem.Code(err), "%s, line %d: %w", im.list, n, err).WithHint("%s", problem.Hint(err))
		}
		all = append(all, found...)
	}
	return all, lines.Err()
}

// failed is how an import ends: well, or with how many states were not imported.
func failed(results []imported) error {
	var first error
	n := 0
	for _, r := range results {
		if r.err != nil {
			n++
			first = cmp.Or(first, r.err)
		}
	}
	if n == 0 {
		return nil
	}
	if len(results) == 1 {
		return first
	}
	return problem.New(problem.Code(first), "%d of %s were not imported", n, page.Plural(len(results), "state")).
		WithHint("the lines above say why; then run the same again: what is there is not imported twice")
}

// text is a result as one line.
func (i imported) text() string {
	line := i.Stack + ": " + i.Outcome
	if i.Lineage != "" || i.Serial > 0 {
		line += fmt.Sprintf(", serial %d", i.Serial)
	}
	line += " (" + i.Source + ")"
	if i.Error != "" {
		line += ": " + i.Error
	}
	return page.Visible(line)
}
