package cli

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/rollout"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/stack"
)

// This file is about the record of a rollout: what is kept between commands.

// settle keeps what became of a stack. What cannot be kept is not known to the
// next command, so the stack has failed.
func (f *fleet) settle(k stack.Key, kind api.RolloutKind, r api.StackResult) api.StackResult {
	r.Stack, r.At = k.String(), cmp.Or(r.At, f.now())
	write := f.keep
	if kind == api.RolloutPlan { // which may be of thousands, and touches nothing
		write = f.keepSoon
	}
	if err := write(func(all *api.Rollout) { merge(all, []api.StackResult{r}) }); err != nil && r.Status.Good() {
		return concluded(r, err)
	}
	return r
}

// destroys reports whether the rollout is one that destroys.
func (f *fleet) destroys() bool { return f.kept.Kind == api.RolloutDestroy }

func (f *fleet) now() string { return f.g.Now().UTC().Format(time.RFC3339) }

// keep changes the record, and writes it.
func (f *fleet) keep(change func(*api.Rollout)) error {
	if f.record == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.kept)
	return f.write()
}

// recordLarge is from how many stacks on a record is not written for each.
const recordLarge = 200

// keepSoon changes the record, and leaves it to a later change to write it when it
// is large and has just been written.
func (f *fleet) keepSoon(change func(*api.Rollout)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.kept)
	if f.record == nil || len(f.kept.Stacks) > recordLarge && f.g.Now().Sub(f.written) < time.Second {
		return nil
	}
	return f.write()
}

func (f *fleet) write() error {
	f.written = f.g.Now()
	f.kept.Counts = rollout.Count(f.kept.Stacks)
	text, err := json.MarshalIndent(f.kept, "", "  ")
	if err != nil {
		return problem.New(api.Internal, "the record of the rollout cannot be written: %w", err)
	}
	return f.record.Write(append(text, '\n'))
}

// merge puts results in the place of those of the same stacks. A stack whose turn
// did not come is still what it was, if it was anything.
func merge(r *api.Rollout, results []api.StackResult) {
	for _, result := range results {
		i := at(r, result.Stack)
		if i < 0 || !idle(result) || idle(r.Stacks[i]) {
			put(r, result)
		}
	}
}

// put puts a result in the place of that of the same stack. What the policies say
// in words is not kept; what was done to a stack that was applied before is.
func put(r *api.Rollout, result api.StackResult) {
	result.Findings = nil
	if i := at(r, result.Stack); i >= 0 {
		if result.Status == api.StackApplied && result.Summary == nil {
			result.Summary = r.Stacks[i].Summary
		}
		r.Stacks[i] = result
		return
	}
	r.Stacks = append(r.Stacks, result)
}

// at is where a rollout has a stack, or -1.
func at(r *api.Rollout, key string) int {
	return slices.IndexFunc(r.Stacks, func(s api.StackResult) bool { return s.Stack == key })
}

func idle(r api.StackResult) bool {
	return r.Status == api.StackBlocked || r.Status == api.StackSkipped
}

// head is what the record says of the rollout as a whole, and what is done to its
// stacks now.
func (f *fleet) head(kind api.RolloutKind) api.Rollout {
	if f.kept.ID == "" {
		return f.header(kind)
	}
	head := f.kept
	head.Kind = kind
	return head
}

// header is a rollout that begins.
func (f *fleet) header(kind api.RolloutKind) api.Rollout {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	return api.Rollout{
		Format: api.RolloutFormat, ID: "rollout_" + hex.EncodeToString(id[:]), Created: f.now(),
		Kind: kind, Base: f.e.base, Commit: runner.Commit(f.e.cfg.Root), Stacks: []api.StackResult{},
	}
}

// recorded is the last rollout, nil where there is none.
func (f *fleet) recorded() (*api.Rollout, error) {
	data, err := f.record.Read()
	if err != nil || data == nil {
		return nil, err
	}
	r, err := decodeRollout(data)
	return &r, err
}

// decodeRollout reads a record, which this version has to have written.
func decodeRollout(data []byte) (api.Rollout, error) {
	var r api.Rollout
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil || r.Format != api.RolloutFormat {
		return r, problem.New(api.Stale, "the record of the last rollout cannot be read: it was damaged, or another version wrote it").
			WithHint("assize plan makes a new one")
	}
	return r, nil
}

// was is what the record says of a stack.
func (f *fleet) was(k stack.Key) (api.StackResult, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := at(&f.kept, k.String())
	if i < 0 {
		return api.StackResult{Stack: k.String()}, false
	}
	return f.kept.Stacks[i], true
}

// noteApplied runs an apply of one stack alone, and writes down in the record of
// a rollout that has it what becomes of it. While another process has the record,
// that one knows better. Of a plan that lies elsewhere, in file, the rollout knows
// nothing: its own plan of that stack can be applied no more.
func (g *Globals) noteApplied(t target, file string, destroys bool, saved func() bool, result *api.Applied, apply func() error) error {
	f := g.recordOf(t)
	if f == nil {
		return apply()
	}
	defer f.end()
	before, _ := f.was(t.key)
	if !saved() {
		if before.Status == api.StackApplying && file == "" {
			_, err := unplanned(before)
			return err
		}
		return apply() // which says the same, and begins nothing
	}
	note := func(r api.StackResult) error {
		return f.keep(func(all *api.Rollout) { put(all, r) })
	}
	begun := before
	begun.Status, begun.At, begun.Error, begun.Hint, begun.Exit = api.StackApplying, f.now(), "", "", 0
	if err := note(begun); err != nil {
		return err
	}
	err := apply()
	begun.At = f.now() // what was planned until now has not seen it
	switch {
	case saved(): // it was not begun
		return errors.Join(err, note(before))
	case err != nil:
		return errors.Join(err, note(concluded(begun, err)))
	case file != "" || destroys != f.destroys():
		before.Status, before.At, before.Exit = api.StackRefused, begun.At, ExitRefused
		before.Error, before.Hint = "another plan than that of the rollout was applied", "assize plan"
		return note(before)
	}
	begun.Status, begun.Warrant, begun.Run = api.StackApplied, result.Warrant, result.Run
	return note(begun)
}

// destroying reports whether a saved plan destroys the stack. One that cannot be
// read is not applied.
func destroying(s *runner.Stack, file string) bool {
	w, err := savedWarrant(s, file)
	if err != nil {
		return false
	}
	flags, err := runner.FlagsOf(w.Binding)
	return err == nil && flags.Destroy
}

// recordOf is the record of a rollout that has a stack, nil where there is none
// that can be had.
func (g *Globals) recordOf(t target) *fleet {
	if !runner.HasRecord(t.root) {
		return nil
	}
	record, err := runner.OpenRecord(t.root)
	if err != nil {
		return nil
	}
	f := &fleet{g: g, record: record}
	if last, err := f.recorded(); err == nil && last != nil {
		f.kept = *last
		if _, ok := f.was(t.key); ok {
			return f
		}
	}
	f.end()
	return nil
}
