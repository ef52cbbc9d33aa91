package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report"
)

// This file is what plan and apply share: the stack, its policies, judging.

// retyped completes a hint to plan again: what it says to type next must work
// where it is typed, on the same stack, with the same policies and place. flags
// are those of [again].
func retyped(flags string, err error) error {
	const command = "assize plan"
	var e *problem.Error
	if flags == "" || !errors.As(err, &e) {
		return err
	}
	full := command + flags
	if strings.TrimSpace(strings.Replace(e.Hint, command, "", 1)) != "" {
		full = "`" + full + "`" // prose follows, which is not to be typed
	}
	e.Hint = strings.ReplaceAll(strings.ReplaceAll(e.Hint, "`"+command+"`", command), command, full)
	return err
}

// typed completes a hint that is command and nothing else.
func typed(command, full string, err error) error {
	var e *problem.Error
	if errors.As(err, &e) && e.Hint == command {
		e.Hint = full
	}
	return err
}

// named reports whether the command line names a policy.
func (f policyFlags) named() bool { return len(f.any)+len(f.rules)+len(f.rego)+len(f.cue) > 0 }

// usable reads and compiles every policy that is named, and the exceptions. It
// runs before the tool does anything at all (seed 003, "Refusals of the policy
// itself").
func (g *Globals) usable(dir string, flags policyFlags) (jury, error) {
	b, err := g.jury(dir, flags)
	if err != nil {
		return b, &Exit{ExitPolicy, err}
	}
	for _, f := range b.exceptions {
		if f.Err != nil {
			return b, &Exit{ExitPolicy, unusable("exceptions", f.Path, f.Err)}
		}
	}
	for _, p := range b.policies {
		err := p.err
		if err == nil {
			err = policy.Check(g.Engines, p.src)
		}
		if err != nil {
			return b, &Exit{ExitPolicy, unusable("policy", p.src.Path, err)}
		}
	}
	return b, nil
}

// unusable names the policy, or the exceptions, as the fault, once.
func unusable(what, path string, err error) error {
	text := err.Error()
	if path == "" || strings.HasPrefix(text, what+" "+path) {
		return err
	}
	if !strings.HasPrefix(text, path+":") { // a position begins so, too
		text = path + ": " + strings.TrimPrefix(text, path+" ")
	}
	return &problem.Error{Code: problem.Code(err), Message: what + " " + text, Hint: problem.Hint(err), Cause: err}
}

// judgeOne judges one plan. It does not wait for them once there was
// an interrupt; then every verdict is an error, and the process is about to end,
// which ends a policy's child process.
func (b jury) judgeOne(w *work, p *plan.Plan) []api.Verdict {
	w.progress.step("judging")
	defer w.progress.step("")
	judged := make(chan []api.Verdict, 1)
	go func() { judged <- b.judge([]planInput{{plan: p}})[0].Verdicts }()
	select {
	case verdicts := <-judged:
		return verdicts
	case <-w.interrupted:
	}
	verdicts := make([]api.Verdict, len(b.policies))
	for i, named := range b.policies {
		verdicts[i] = policy.Errored(named.src, problem.New(api.Unavailable, "interrupted"))
	}
	return verdicts
}

// blocks reports whether one verdict alone stops an apply.
func blocks(v api.Verdict) bool { return policy.Stand(v) != api.StandsPassed }

// printVerdicts says what every policy came to. What blocks goes to why, in
// the form of seed 003, after the rest; what granted lets pass is not among it.
func printVerdicts(out, why io.Writer, verdicts []api.Verdict, granted []api.Override, o report.Options) error {
	var rest []api.Verdict
	var against bytes.Buffer
	for _, v := range verdicts {
		var err error
		_, passes := overridden(v, granted)
		switch {
		case passes || !blocks(v):
			rest = append(rest, v)
		case v.Outcome == api.Failed:
			err = report.Violation(&against, v, v.Findings)
		default:
			err = report.Satisfied(&against, v) // which it is not: it says why it could not judge
		}
		if err != nil {
			return err
		}
	}
	if err := printRest(out, rest, against.Len() > 0 || len(granted) > 0, o); err != nil {
		return err
	}
	if err := report.Overridden(out, granted); err != nil {
		return err
	}
	_, err := why.Write(against.Bytes())
	return err
}

// printRest leaves out the closing line when something blocks or would block:
// it would say of the rest that policy has passed, or has not.
func printRest(out io.Writer, verdicts []api.Verdict, partial bool, o report.Options) error {
	check := policy.Collect([]policy.Judged{{Verdicts: verdicts}})
	if len(check.Findings) > 0 {
		write := report.Text
		if partial {
			write = report.Findings
		}
		fmt.Fprintln(out) // what the tool says ends where it likes
		return write(out, check, o)
	}
	for _, v := range verdicts {
		if err := report.Satisfied(out, v); err != nil {
			return err
		}
	}
	return nil
}
