package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/state/document"
)

// This file is about changes of the state alone. No policy judges them, so each is in
// the log, and makes a plan stale that was saved before (docs/spec.md, rule 30).

// An edit is one such change, as it is asked for.
type edit struct {
	at     where
	labels plan.Labels
	action string   // the command's words without assize
	words  []string // what it is about, as it may be shown
	to     string   // of mv: the new name
	stack  *runner.Stack
}

func newStateMvCmd(g *Globals) *cobra.Command {
	e := edit{action: "state mv"}
	cmd := &cobra.Command{
		Use:   "mv FROM TO [STACK]",
		Short: "Let the state of a stack call an object something else",
		Long: `Let the state of a stack call an object something else. Nothing happens to the object
itself. In a specification FROM and TO are paths in CUE; there, $from in the resource
does the same with the next plan, which is shown and judged.

  assize state mv web.front web.back
  assize state mv aws_instance.a 'aws_instance.b[0]' infra/network:prod --reason 'one module now'

It is written into the log (assize log). A plan that was saved before is stale then.
` + exitHelp,
		Args: words("two addresses", 2, "assize state mv web.front web.back"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.at.key = word(args, 2)
			return e.run(cmd.Context(), g, func(s *document.State) (runner.Edit, error) { return e.move(s, args[0], args[1]) }, e.moved)
		},
	}
	e.flags(cmd)
	return cmd
}

// move finds what is to be moved, and what the tool would call it then.
func (e *edit) move(s *document.State, from, to string) (runner.Edit, error) {
	address, err := e.find(s, from)
	if err != nil {
		return nil, err
	}
	e.words, e.to = []string{s.Shown(from), s.Shown(to)}, s.Shown(to)
	if e.stack.Specified() {
		found, err := s.Find(from)
		if err != nil {
			return nil, err
		}
		if to, err = found.Renamed(to); err != nil {
			return nil, err
		}
	}
	return e.stack.Move(address, to), nil
}

func (e *edit) moved(g *Globals, now string) {
	fmt.Fprintf(g.Out, "%s is %s in the state now%s.\n", page.Visible(e.words[0]), page.Visible(e.to), now)
	if !e.stack.Specified() {
		return
	}
	if _, err := e.planned(e.to); err != nil {
		report.Problem(g.Err, "warning", fmt.Sprintf("%s is not in the specification: as long as it is not, the next plan deletes it", e.to))
	}
	report.Problem(g.Err, "hint", fmt.Sprintf("with $from: %q in %s instead, the next plan moves it, and is shown and judged", e.words[0], e.to))
}

func newStateRmCmd(g *Globals) *cobra.Command {
	e := edit{action: "state rm"}
	cmd := &cobra.Command{
		Use:   "rm ADDRESS [STACK]",
		Short: "Take an object out of the state of a stack",
		Long: `Take an object out of the state of a stack. The object itself stays, and nobody manages
it any more. In a specification ADDRESS is its path in CUE.

  assize state rm web.front
  assize state rm module.old infra/network:prod --reason 'the other team has it now'

It is written into the log (assize log). A plan that was saved before is stale then.
` + exitHelp,
		Args: words("an address", 1, "assize state rm web.front"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.at.key = word(args, 1)
			return e.run(cmd.Context(), g, func(s *document.State) (runner.Edit, error) {
				address, err := e.find(s, args[0])
				e.words = []string{s.Shown(args[0])}
				return e.stack.Forget(address), err
			}, e.removed)
		},
	}
	e.flags(cmd)
	return cmd
}

func (e *edit) removed(g *Globals, now string) {
	fmt.Fprintf(g.Out, "%s is not in the state any more%s. What it was in the world stays as it is.\n", page.Visible(e.words[0]), now)
	where := "configuration"
	if e.stack.Specified() {
		where = "specification"
	}
	report.Problem(g.Err, "hint", fmt.Sprintf("delete %s from the %s, too: else the next plan makes another one", e.words[0], where))
}

func (e *edit) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&e.at.dir, "chdir", "C", ".", "work in `DIR`")
	registerLabels(cmd, &e.labels)
}

// find is what the tool calls something that is in the state.
func (e *edit) find(s *document.State, name string) (string, error) {
	if e.stack.Specified() || !s.Holds(name) {
		found, err := s.Find(name)
		return found.Address, err
	}
	return name, nil
}

// run changes the state of a stack: prepare says how, and said tells the person what
// has been done, and of which serial the state is now.
func (e *edit) run(ctx context.Context, g *Globals, prepare func(*document.State) (runner.Edit, error), said func(*Globals, string)) error {
	t, stack, err := e.at.place(g, settings.Apply)
	if err != nil {
		return err
	}
	e.stack = stack
	ctx, sig, stop := listen(ctx)
	defer stop()
	w := g.alone(e.stack, sig, filepath.Base(t.dir()), false)
	defer w.progress.stop()
	e.stack.Session.Terse = true
	if err := e.stack.Equip(ctx); err != nil {
		return err
	}
	state, err := e.stack.State(ctx)
	if err != nil {
		return err
	}
	change, err := prepare(state)
	if err != nil {
		return err
	}
	entry := e.entry()
	if err := e.stack.Log(entry.begun()); err != nil {
		return err
	}
	now, err := e.stack.Edit(ctx, change)
	if failed := e.stack.Log(entry.ended(err)); failed != nil {
		report.Problem(g.Err, "warning", failed.Error())
	}
	if err != nil {
		return err
	}
	w.progress.step("")
	said(g, serialOf(now))
	return nil
}

// serialOf says at which serial the state is, if that is known.
func serialOf(s *api.State) string {
	if s == nil || s.Lineage == "" {
		return ""
	}
	return fmt.Sprintf(", which is at serial %d", s.Serial)
}

// entry is the change for the log. Its words may be shown, unlike those of the command
// line: an instance key can be a secret, and so can an id.
func (e *edit) entry() txn {
	detail := map[string]string{"command": "assize " + e.action + quoteAll(e.words...) + quoteAll(e.at.key) + inDir(e.at.dir)}
	for name, text := range map[string]string{"commit": runner.Commit(e.stack.Dir()), "reason": e.labels.Reason, "trace": e.labels.TraceID, "to": e.to} {
		if text != "" {
			detail[name] = text
		}
	}
	return txn{Principal: caller(e.labels), Action: e.action, Object: e.words[0], Detail: detail}
}
