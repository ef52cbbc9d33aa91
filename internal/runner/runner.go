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

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/redact"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/tofu"
)

// A Stack is one directory of configuration, or one instance of it, and the tool
// that works in it. [Open] makes one as it is configured; a literal is a directory
// as it is.
type Stack struct {
	Session tofu.Session
	Step    func(doing string) // told what is being done, for a progress line; may be nil

	root     string // of assize.yaml or the checkout; "" for a directory as it is
	settings settings.Effective
	planEnv  []string // of the tool when it plans; nil where the mode makes no difference
}

// Options say what to plan.
type Options struct {
	Flags plan.Flags
	Vars  []string // -var=... and -var-file=..., in the order of the command line, for the last one counts

	Provenance api.Provenance // what the caller vouches for; it is kept in the binding, and not looked at

	// Overlay, if there is one, is called after init and after everything was
	// observed, and the plan is made in what it returns. Such a plan is
	// conditional: it shows what will be planned once something else has been
	// applied, and is never applied itself.
	Overlay func(context.Context) (*Overlay, error)
}

// An Overlay is a mirror of the stack's directory.
type Overlay struct {
	Dir     string   // absolute
	Environ []string // what the tool gets besides
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
	s.planEnv = s.Session.Tool.Env // in whatever mode: these values will be in the file
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
	session, args, err := s.stage(ctx, o)
	if err != nil {
		return nil, err
	}
	p.file = filepath.Join(p.private.path, "plan.tfplan")
	s.step("planning")
	if p.Changes, err = session.Plan(ctx, p.file, args); err != nil {
		return nil, err
	}
	if err := os.Chmod(p.file, 0o600); err != nil {
		return nil, problem.New(api.Internal, "%s saved no plan: %w", s.Session.Tool.Name, err)
	}
	return p, s.complete(ctx, session, p, o.Flags)
}

// stage says where the tool plans, and with which flags. In an overlay it has
// the providers and modules of the real directory, holds no lock, for nothing
// will come of it, and finds variable files where they really are.
func (s *Stack) stage(ctx context.Context, o Options) (tofu.Session, []string, error) {
	session, args := s.Session, append(arguments(o.Flags), o.Vars...)
	if o.Overlay == nil {
		return session, args, nil
	}
	over, err := o.Overlay(ctx)
	if err != nil {
		return session, nil, err
	}
	session.Dir = over.Dir
	session.Tool.Env = slices.Concat(session.Tool.Environ(), over.Environ, []string{"TF_DATA_DIR=" + s.Session.DataDir()})
	for i, arg := range args {
		if file, ok := strings.CutPrefix(arg, "-var-file="); ok {
			args[i] = "-var-file=" + s.resolve(file)
		}
	}
	return session, append(args, "-lock=false"), nil
}

// newRun draws the name of a run. What is bound to it, such as an override,
// is bound to this one planning, even where two plans are the same.
func newRun() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	return "run_" + hex.EncodeToString(id[:])
}

// complete reads the plan back, and what it was made from once more.
func (s *Stack) complete(ctx context.Context, session tofu.Session, p *Planned, flags plan.Flags) error {
	var err error
	if p.Binding.Plan, err = fileDigest(p.file); err != nil {
		return err
	}
	if p.Plan, err = s.show(ctx, session, p.file, flags); err != nil {
		return err
	}
	p.Binding.Document = p.Plan.Digest
	now, err := s.Still(p.Binding)
	if err != nil {
		return err
	}
	return settled(p.Binding, now)
}

// show reads a plan file as the tool shows it. The flags are the caller's
// word, for not every tool writes them into the plan.
func (s *Stack) show(ctx context.Context, session tofu.Session, file string, flags plan.Flags) (*plan.Plan, error) {
	s.step("reading the plan")
	raw, err := session.Show(ctx, file)
	if err != nil {
		return nil, err
	}
	p, err := plan.Decode(raw)
	if err != nil {
		return nil, err
	}
	p.Flags = flags
	return p, nil
}

// origin is what the caller chose: it identifies what [Stack.Observe] looks at.
func (s *Stack) origin(o Options) api.Binding {
	b := api.Binding{Salt: rand.Text(), VarFiles: []string{}, Flags: arguments(o.Flags), Provenance: o.Provenance}
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
