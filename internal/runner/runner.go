// Package runner makes and applies plans of one stack: it drives the tool
// through init, plan, show and apply, observes everything a plan is made from,
// and keeps saved plans private. It must not know of policies or of the gate:
// what it made is judged by its caller, and nothing here decides whether an
// apply may start (docs/warrant.md).
package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/redact"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/spec"
	"github.com/assize-iac/assize/internal/tofu"
)

// A Stack is one directory of configuration, or one instance of it, and the tool
// that works in it. [Place] makes one as it is configured; a literal is a directory
// as it is.
type Stack struct {
	Session tofu.Session
	Step    func(doing string) // told what is being done, for a progress line; may be nil

	specified string                // its own directory, where that holds a specification; then the tool works in another one
	refresh   spec.Refresh          // of a specification: when its state is refreshed
	places    map[string]spec.Place // of a specification: where things are, by the tool's addresses
	texts     map[string]string     // of a specification: the digests of its files
	root      string                // of assize.yaml or the checkout; "" for a directory as it is
	settings  settings.Effective
	mode      settings.Mode
	digests   *tofu.Digests
	process   []string // the environment that this process has; nil where the mode makes no difference
}

// Options say what to plan.
type Options struct {
	Flags plan.Flags
	Vars  []string // -var=... and -var-file=..., in the order of the command line, for the last one counts

	Provenance api.Provenance // what the caller vouches for; it is kept in the binding, and not looked at

	// Overlay, if there is one, is called after init and after everything was
	// observed, and the plan is made in what it returns. It may make the directory
	// into, which is gone when the plan is closed. Such a plan is
	// conditional: it shows what will be planned once something else has been
	// applied, and is never applied itself.
	Overlay func(into string) (*Overlay, error)
}

// An Overlay is a mirror of the stack's directory.
type Overlay struct {
	Dir     string   // absolute
	Environ []string // what the tool gets besides

	// Native turns what the tool shows of the plan into what it would show of one
	// in the stack's own directory.
	Native func(raw []byte) ([]byte, error)
}

// A Planned is a plan in a private directory, with what it was made from. It
// is gone after Close unless it was saved.
type Planned struct {
	Run     string // identifies this planning: "run_" and 32 hexadecimal digits
	Plan    *plan.Plan
	Binding api.Binding
	Changes bool // the tool says that there is something to do

	Conditional bool // it was made in an overlay

	file    string
	private *private
}

// Close removes the plan from the private directory.
func (p *Planned) Close() { p.private.close() }

// File is the plan's file in the private directory, for a hook.
func (p *Planned) File() string { return p.file }

// Plan makes a plan. What it was made from is observed before the tool reads
// it and again afterwards: a plan of a moving target is refused, because no
// digest would be that of what the tool has read (docs/warrant.md, rule 3).
func (s *Stack) Plan(ctx context.Context, o Options) (_ *Planned, err error) {
	if err := s.refuseErrored(); err != nil {
		return nil, err
	}
	files, err := s.varFiles()
	if err != nil {
		return nil, err
	}
	o.Vars = append(files, o.Vars...) // what is typed wins
	origin := s.origin(o)
	if err := s.refusePipes(origin.VarFiles); err != nil {
		return nil, err
	}
	s.Session.Secrets = redact.New(s.secrets(o.Vars))
	p := &Planned{Run: newRun(), Conditional: o.Overlay != nil}
	if p.private, err = s.newPrivate(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil { // whichever way it went wrong, no working copy stays
			p.Close()
		}
	}()
	if err := s.initialise(ctx, false); err != nil {
		return nil, err
	}
	s.step("reading the state")
	if p.Binding, err = s.Observe(ctx, origin); err != nil {
		return nil, err
	}
	began, looks := time.Now(), s.refreshes(o.Flags, p.Binding.State)
	at, err := s.stage(filepath.Join(p.private.path, "mirror"), o)
	if err != nil {
		return nil, err
	}
	if !looks {
		at.args = append(at.args, "-refresh=false")
	}
	p.file = filepath.Join(p.private.path, "plan.tfplan")
	s.step("planning")
	note := s.heed(&at.session)
	if p.Changes, err = at.session.Plan(ctx, p.file, at.args); err != nil {
		return nil, note(err)
	}
	if err := os.Chmod(p.file, 0o600); err != nil {
		return nil, problem.New(api.Internal, "%s saved no plan: %w", s.Session.Tool.Name, err)
	}
	if err := s.complete(ctx, at, p, o.Flags); err != nil {
		return nil, err
	}
	if looks {
		s.noteRefreshed(p, began)
	}
	return p, nil
}

// A stage is where the tool works, with which flags, and how what it shows is
// read; native is nil for as it is.
type stage struct {
	session tofu.Session
	args    []string
	native  func(raw []byte) ([]byte, error)
}

// stage is where a plan is made. In an overlay it has
// the providers and modules of the real directory, holds no lock, for nothing
// will come of it, and finds variable files where they really are.
func (s *Stack) stage(into string, o Options) (stage, error) {
	at := stage{session: s.Session, args: append(arguments(o.Flags), o.Vars...)}
	if o.Overlay == nil {
		return at, nil
	}
	over, err := o.Overlay(into)
	if err != nil {
		return at, err
	}
	at.native, at.session.Dir = over.Native, over.Dir
	at.session.Tool.Env = slices.Concat(at.session.Tool.Environ(), over.Environ, []string{"TF_DATA_DIR=" + s.Session.DataDir()})
	for i, arg := range at.args {
		if file, ok := strings.CutPrefix(arg, "-var-file="); ok {
			at.args[i] = "-var-file=" + s.resolve(file)
		}
	}
	at.args = append(at.args, "-lock=false")
	return at, nil
}

// newRun draws the name of a run. What is bound to it, such as an override,
// is bound to this one planning, even where two plans are the same.
func newRun() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	return "run_" + hex.EncodeToString(id[:])
}

// complete reads the plan back, and what it was made from once more.
func (s *Stack) complete(ctx context.Context, at stage, p *Planned, flags plan.Flags) error {
	var err error
	if p.Binding.Plan, err = fileDigest(p.file); err != nil {
		return err
	}
	if p.Plan, err = s.show(ctx, at, p.file, flags); err != nil {
		return err
	}
	p.Binding.Document = p.Plan.Digest
	p.Plan.Flags.Labels.GitRevision = p.Binding.Commit
	now, err := s.Still(p.Binding)
	if err != nil {
		return err
	}
	return settled(p.Binding, now)
}

// show reads a plan file as the tool shows it. The flags are the caller's
// word, for not every tool writes them into the plan.
func (s *Stack) show(ctx context.Context, at stage, file string, flags plan.Flags) (*plan.Plan, error) {
	s.step("reading the plan")
	raw, err := at.session.Show(ctx, file)
	if err == nil && at.native != nil {
		raw, err = at.native(raw)
	}
	if err != nil {
		return nil, err
	}
	p, err := plan.Decode(raw)
	if err != nil {
		return nil, err
	}
	p.Flags = flags
	p.Flags.Specification = s.Specified()
	return p, nil
}

// origin is what the caller chose: it identifies what [Stack.Observe] looks at.
func (s *Stack) origin(o Options) api.Binding {
	b := api.Binding{Mode: string(s.mode), Salt: rand.Text(), VarFiles: []string{}, Flags: arguments(o.Flags), Provenance: o.Provenance}
	for _, arg := range o.Vars {
		file, ok := strings.CutPrefix(arg, "-var-file=")
		if !ok {
			continue
		}
		// Relative where it can be, so that the warrant holds in another checkout.
		if filepath.IsAbs(file) {
			if rel, err := filepath.Rel(s.Session.Dir, file); err == nil {
				file = rel
			}
		}
		b.VarFiles = append(b.VarFiles, filepath.ToSlash(file))
	}
	return b
}

// settled refuses a plan that something changed under.
func settled(before, after api.Binding) error {
	for _, c := range []struct{ what, before, after string }{
		{"the configuration", before.Configuration, after.Configuration},
		{"the lock file", before.LockFile, after.LockFile},
		{"a variable file", before.Variables, after.Variables},
		{"the backend", before.Backend, after.Backend},
		{"the workspace", before.Workspace, after.Workspace},
		{"the tool", before.Tool.Digest, after.Tool.Digest},
	} {
		if c.before != c.after {
			return problem.New(api.Stale, "%s changed while the plan was being made", c.what).WithHint("assize plan, once nothing else writes here")
		}
	}
	return nil
}

// step tells the progress line, where there is one.
func (s *Stack) step(doing string) {
	if s.Step != nil {
		s.Step(doing)
	}
}
