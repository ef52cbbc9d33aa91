package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/rollout"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
	"github.com/assize-iac/assize/internal/tofu"
)

// A fleet is the stacks that one command works on, and the record of what becomes
// of them.
type fleet struct {
	signals
	g      *Globals
	e      *estate
	dir    string // as -C has it
	json   bool
	quiet  bool
	record *runner.Record // nil where nothing is kept
	tools  tofu.Digests

	mu      sync.Mutex // guards what follows
	kept    api.Rollout
	written time.Time
}

// begin reads the repository, and takes the record of its last rollout for this
// process unless nothing is to be kept.
func (g *Globals) begin(ctx context.Context, sig signals, c choice, json, keep bool) (*fleet, error) {
	cfg, err := repo.Settings(c.dir)
	if err != nil {
		return nil, &Exit{ExitPolicy, err}
	}
	e, err := survey(ctx, cfg)
	if err != nil {
		return nil, err
	}
	f := &fleet{signals: sig, g: g, e: e, dir: c.dir, json: json, quiet: c.quiet && !json}
	if keep {
		f.record, err = runner.OpenRecord(e.cfg.Root)
	}
	return f, err
}

func (f *fleet) end() {
	if f.record != nil {
		f.record.Close()
	}
}

// A task is what is done to which of them.
type task struct {
	kind     api.RolloutKind
	keys     []stack.Key
	parallel int
	mode     settings.Mode
	work     func(context.Context, *job) (api.StackResult, error)
}

// A job is one stack of a fleet at work.
type job struct {
	target
	*work
	g    *Globals // prints where the work does
	said *bytes.Buffer
	at   where // from where the person stands
}

// run does it, wave by wave, and ends with the code of the worst that came of it
// (docs/exit-codes.md, rule 5).
func (f *fleet) run(ctx context.Context, t task) error {
	waves, blocks := f.order(t)
	head := f.head(t.kind)
	b := f.g.newBoard(f.json)
	watch := func(e api.RolloutEvent) {
		if e.Rollout != nil { // which knows its stacks, and not what it is
			begun := head
			begun.Stacks, begun.Counts = e.Rollout.Stacks, e.Rollout.Counts
			e.Rollout = &begun
		}
		b.watch(e)
	}
	results := rollout.Run(ctx, rollout.Order{
		Waves: waves, Parallel: t.parallel, Blocks: blocks, Watch: watch, Now: f.g.Now,
	}, func(ctx context.Context, k stack.Key, phase func(string)) api.StackResult {
		return f.settle(k, t.kind, f.one(ctx, k, t, b, phase))
	})
	kept := f.keep(func(r *api.Rollout) { merge(r, results) })
	head.Stacks, head.Counts = results, rollout.Count(results)
	if err := errors.Join(kept, b.close(head), summarize(head)); err != nil {
		return err
	}
	f.e.warn(f.g)
	if err := f.e.finish(f.g, nil); err != nil { // what could not be read is told, whatever else there is
		return err
	}
	if code := rollout.Exit(results); code != 0 {
		return &Exit{Code: code}
	}
	return nil
}

// order is the waves, and who waits for whom: what is destroyed goes before what
// it depends on.
func (f *fleet) order(t task) (waves [][]stack.Key, blocks func(stack.Key) []stack.Key) {
	waves = stack.Waves(f.e.graph, t.keys)
	if t.kind != api.RolloutDestroy {
		return waves, func(k stack.Key) []stack.Key { return f.e.graph.Dependents(k) }
	}
	slices.Reverse(waves)
	return waves, func(k stack.Key) []stack.Key { return f.e.graph.Dependencies(k) }
}

func (f *fleet) one(ctx context.Context, k stack.Key, t task, b *board, phase func(string)) api.StackResult {
	at, warnings, err := targetOf(f.e.cfg, k)
	if err != nil {
		return concluded(api.StackResult{Warnings: warnings}, err)
	}
	at.digests = &f.tools
	s, err := at.open(t.mode)
	if err != nil {
		return concluded(api.StackResult{Warnings: warnings}, err)
	}
	var said bytes.Buffer
	beside := *f.g
	beside.Out, beside.Err = &said, &said
	j := &job{target: at, work: f.g.among(s, f.signals, &said, phase), g: &beside, said: &said, at: where{f.dir, k.String()}}
	r, err := t.work(ctx, j)
	r.Warnings = append(warnings, r.Warnings...)
	again := j.at.words()
	if t.kind == api.RolloutDestroy {
		again = " --destroy" + again
	}
	r = concluded(r, retyped(again, err))
	if why := cause(said.Bytes()); r.Status == api.StackFailed && why != "" {
		r.Error += ": " + why
	}
	if worthReading(r, f.quiet) {
		tell(b.writer(), k, said.Bytes())
	}
	return r
}

// concluded completes a result by what its stack ended with.
func concluded(r api.StackResult, err error) api.StackResult {
	if err == nil {
		r.Error, r.Hint = "", ""
		return r
	}
	r.Exit, r.Hint = exitCode(err), cmp.Or(problem.Hint(err), r.Hint)
	r.Error = cmp.Or(err.Error(), r.Error, "a policy refuses the plan")
	switch r.Exit {
	case ExitRefused, ExitPolicy:
		r.Status = api.StackRefused
	default:
		r.Status = api.StackFailed
	}
	return r
}

// cause is the first error that the tool has told of; "" for none. Its text is the
// tool's own, in which it masks what is sensitive.
func cause(said []byte) string {
	for line := range bytes.Lines(said) {
		line = bytes.TrimLeft(ansi.ReplaceAll(line, nil), "│ ")
		if text, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("Error: ")); ok {
			return string(text)
		}
	}
	return ""
}

// ansi matches what colours a terminal.
var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

// worthReading reports whether what the tool and the policies have said of a
// stack is: something changes, or somebody has something against it. To be quiet
// is to tell only what went wrong (docs/rollouts.md, rule 35).
func worthReading(r api.StackResult, quiet bool) bool {
	if quiet {
		return !r.Status.Good()
	}
	return r.Status != api.StackUnchanged || r.Denied+r.Warned > 0
}

// tell shows what was said of a stack, in one piece. In GitHub Actions it can be
// folded.
func tell(w io.Writer, k stack.Key, said []byte) {
	said = bytes.TrimSpace(said)
	if len(said) == 0 {
		return
	}
	begin, end := "── "+k.String()+" ──", ""
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		begin, end = "::group::"+k.String(), "::endgroup::"
	}
	fmt.Fprintf(w, "%s\n%s\n%s\n", begin, said, end)
}

// judgement fills in what the policies come to. What they say in words is for this
// command, and is not kept in the record.
func judgement(r *api.StackResult, verdicts []api.Verdict) {
	check := policy.Collect([]policy.Judged{{Verdicts: verdicts}})
	r.Denied, r.Warned, r.Findings = check.Counts.Deny, check.Counts.Warn, check.Findings
	var against []string
	for _, v := range verdicts {
		switch {
		case policy.Stand(v) == api.StandsSoftFailed:
			against = append(against, v.Path+" (soft-mandatory)")
		case blocks(v):
			against = append(against, v.Path)
		}
	}
	if len(against) > 0 {
		r.Error = "the plan violates " + strings.Join(against, " and ")
	}
}

// nothing says that no stack is to be worked on.
func (f *fleet) nothing(said string) error {
	f.e.warn(f.g)
	if !f.json {
		fmt.Fprintln(f.g.Out, said)
	}
	return f.e.finish(f.g, nil)
}

// refuseFlags refuses flags that mean one stack where several may be meant.
func refuseFlags(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return problem.New(api.Invalid, "--%s is for one stack, and several may be meant", name).
				WithHint("name the stack, or go to its directory")
		}
	}
	return nil
}
