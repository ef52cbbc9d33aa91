package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/tofu"
)

// afterwards is how long reading the state may take when an apply was
// interrupted: the user wants to get away, and wants to know what is left.
const afterwards = 30 * time.Second

// Prepare makes the directory ready for an apply: modules and providers as the
// lock file has them, and no others.
func (s *Stack) Prepare(ctx context.Context) error {
	if err := s.refuseErrored(); err != nil {
		return err
	}
	return s.initialise(ctx, true)
}

// Read shows the saved plan with the flags its warrant names.
func (s *Stack) Read(ctx context.Context, v *Saved, b api.Binding) (*plan.Plan, error) {
	flags, err := FlagsOf(b)
	if err != nil {
		return nil, err
	}
	p, err := s.show(ctx, stage{session: s.Session}, v.copy, flags)
	if err != nil {
		return nil, err
	}
	v.binding = b
	for name := range p.Variables { // the tools leave ephemeral ones out
		v.frozen = append(v.frozen, variablePrefix+name)
	}
	return p, nil
}

// Apply consumes the saved plan and applies it; was is the state it was made
// from. The caller has decided that it may. The state it returns is nil when
// it is not known; the error says what is known of an apply that did not end
// well.
func (s *Stack) Apply(ctx context.Context, v *Saved, was api.State) (*api.State, error) {
	if ctx.Err() != nil {
		return nil, &problem.Error{Code: api.Unavailable, Message: "interrupted; nothing was applied", Cause: tofu.ErrInterrupted}
	}
	if err := s.Session.Applicable(); err != nil { // before the warrant is used up for nothing
		return nil, err
	}
	if err := v.Claim(); err != nil {
		return nil, err
	}
	s.step("applying")
	session := s.Session
	session.Spool = v.private.path
	session.Tool.Env = s.thawed(v)
	note := s.heed(&session)
	err := note(session.Apply(ctx, v.copy))
	after, stateErr := s.stateAfter(ctx)
	if err != nil {
		return after, s.unwritten(ended(err, was, after))
	}
	if stateErr != nil {
		return nil, nil // it was applied; that the new serial is not known changes nothing
	}
	return after, nil
}

// thawed is the environment of an apply. OpenTofu refuses a variable that does
// not have the value of the plan file, so the mode's own value reaches only those
// that the file does not hold (docs/warrant.md, rule 18).
func (s *Stack) thawed(v *Saved) []string {
	frozen := func(name string) bool { return slices.Contains(v.frozen, name) }
	env := slices.DeleteFunc(slices.Clone(s.Session.Tool.Environ()), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return frozen(name)
	})
	for name, value := range s.asPlanned(v.binding).Matching(frozen) {
		env = append(env, name+"="+value)
	}
	return env
}

// variablePrefix is that of the variables of the environment that set variables.
const variablePrefix = "TF_VAR_"

// stateAfter reads the state even when the apply was interrupted.
func (s *Stack) stateAfter(ctx context.Context) (*api.State, error) {
	s.step("reading the state")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	session := s.Session
	session.Force = nil // a user who insisted has already had that
	state, err := session.State(ctx)
	if err != nil {
		return nil, err
	}
	return &state, nil
}

// ended says what is known. It never says that nothing was done, for the tool
// may have changed something before it could write it down.
func ended(err error, was api.State, after *api.State) *problem.Error {
	known := "the state cannot be read, so it is not known what was applied"
	switch {
	case after == nil:
	case *after == was && errors.Is(err, tofu.ErrKilled):
		known = "the state has not moved, but the tool may have changed something that the state does not show"
	case *after == was:
		known = "the state has not moved" + serial(was)
	case was.Lineage == "":
		known = fmt.Sprintf("there is a state now, with serial %d: part of the plan has been applied", after.Serial)
	case after.Lineage == "":
		known = "the state is gone"
	default:
		known = fmt.Sprintf("the state has moved from serial %d to %d: part of the plan has been applied", was.Serial, after.Serial)
	}
	return problem.New(api.Unavailable, "%w; %s", err, known).
		WithHint("assize plan shows what is left to do; the saved plan has been used up")
}

// erroredName is where the tool leaves a state that it could not write.
const erroredName = "errored.tfstate"

// unwritten puts first what else would be lost: the tool could not write the
// state, so the one that was read afterwards does not know what it made.
func (s *Stack) unwritten(err error) error {
	if !s.errored() {
		return err
	}
	return problem.New(api.Unavailable, "%w; the tool could not write the state and has left it in %s", err, erroredName).
		WithHint("%s", s.pushHint())
}

// refuseErrored refuses to work from a state that does not know everything
// that was made: what is missing in it would be made twice.
func (s *Stack) refuseErrored() error {
	if !s.errored() {
		return nil
	}
	return problem.New(api.Conflict, "%s holds what an earlier apply has made and could not write to the state", erroredName).
		WithHint("%s", s.pushHint())
}

// errored takes what cannot be looked at for one that is there.
func (s *Stack) errored() bool {
	_, err := os.Lstat(s.resolve(erroredName))
	return !errors.Is(err, fs.ErrNotExist)
}

func (s *Stack) pushHint() string {
	return fmt.Sprintf("before anything else: `%s state push %s`, and remove that file once it has worked", s.Session.Tool.Name, erroredName)
}

// serial is left out where there is none, so that 0 is not taken for one.
func serial(s api.State) string {
	if s.Lineage == "" {
		return ": there is still none"
	}
	return fmt.Sprintf(" (serial %d)", s.Serial)
}
