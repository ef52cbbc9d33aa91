package tofu

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

const (
	// graceDefault is that of [Session.Grace].
	graceDefault = 10 * time.Second
	// outputGrace is how long a provider that outlives the tool may hold its
	// output open.
	outputGrace = 5 * time.Second
	// captureMax bounds what is read into memory.
	captureMax = 1 << 30
)

// ErrInterrupted is in the tree of an error about a command that was asked to
// stop. The tool may have finished all the same.
var ErrInterrupted = errors.New("interrupted")

// ErrKilled is in the tree of an error about a command that ended by a signal:
// what it did last is not known.
var ErrKilled = errors.New("killed")

// A call is one run of a subcommand.
type call struct {
	args     []string
	out, err io.Writer
	ok       []int // exit codes besides 0 that are no failure
	survives bool  // outlives this process
	quick    bool  // holds nothing that killing it could lose

	script string   // a program to be run instead of the tool; args say what it is
	env    []string // of the script
}

// capture runs a command whose output is for the program alone: it may hold
// secrets. What the tool complains about is its own text, in which it masks
// them, and is shown only when it fails.
func (s *Session) capture(ctx context.Context, args ...string) ([]byte, error) {
	var out, complaints buffer
	_, err := s.run(ctx, call{args: args, out: &out, err: &complaints, quick: true})
	if err != nil {
		s.complain(complaints.held.Bytes())
		return nil, err
	}
	if out.full {
		return nil, problem.New(api.TooLarge, "%s printed more than %d bytes", s.words(args), captureMax)
	}
	return out.held.Bytes(), nil
}

// run starts the tool and waits for its end. It asks the tool to stop once
// when ctx is done, and again when the user insists.
func (s *Session) run(ctx context.Context, c call) (int, error) {
	if c.script == "" {
		if err := s.refuseHiddenFlags(c.args); err != nil {
			return -1, err
		}
	}
	if ctx.Err() != nil {
		return -1, s.interrupted(c, "was not started")
	}
	// In a group of its own the tool is in the terminal's background, where
	// `stty tostop` would stop it as it prints. It inherits that this is ignored.
	signal.Ignore(syscall.SIGTTOU)
	cmd := s.command(c)
	cmd.SysProcAttr = attributes(c.survives)
	cmd.WaitDelay = outputGrace
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// The kernel ties "die with the parent" to the thread that started the
		// child, so that thread must last as long as the child does.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; errors.Is(err, syscall.ENOEXEC) {
		return -1, problem.New(api.Invalid, "%s is neither a script nor a program for this machine", cmd.Path).WithHint("begin a script with #!/bin/sh")
	} else if err != nil {
		return -1, problem.New(api.Unavailable, "%s cannot be run: %w", cmd.Path, err)
	}
	asked, err := s.wait(ctx, cmd.Process, ended, c)
	return s.outcome(c, asked, err)
}

func (s *Session) command(c call) *exec.Cmd {
	cmd, env := exec.Command(s.Tool.Path, c.args...), s.Tool.Environ()
	if c.script != "" {
		cmd, env = exec.Command(c.script), c.env
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, c.out, c.err
	cmd.Env = append(slices.Clone(env), "TF_IN_AUTOMATION=1")
	return cmd
}

// Script runs a program that is not the tool, in the directory and with the
// streams of the session; what it is called is for messages. It is interrupted
// as what merely reads, its children with it.
func (s *Session) Script(ctx context.Context, called, path string, env []string) error {
	out, errs, finish := s.clean()
	defer finish()
	_, err := s.run(ctx, call{args: []string{called}, script: path, env: env, out: out, err: errs, quick: true})
	return err
}

// wait returns when the process has ended, and whether it was asked to end.
//
// The process leads a group of its own, so a Ctrl-C at the terminal does not
// reach it by itself: exactly one interrupt goes to it, and none to its
// providers, which it stops in its own order. A plan or an apply that takes its
// time to stop is killed only when the user insists; what merely reads is killed
// after the grace, so that a time-out is one.
func (s *Session) wait(ctx context.Context, p *os.Process, ended <-chan error, c call) (asked bool, err error) {
	done, force := ctx.Done(), s.Force
	var kill <-chan time.Time
	for {
		select {
		case err := <-ended:
			if asked && c.script != "" { // a shell starts what is in its background deaf to interrupts
				_ = killGroup(p.Pid)
			}
			return asked, err
		case <-done:
			done, asked = nil, true
			c.interrupt(p)
			if c.quick {
				kill = time.After(cmp.Or(s.Grace, graceDefault))
			}
		case <-force:
			force, asked = nil, true
			c.interrupt(p)
			kill = time.After(cmp.Or(s.Grace, graceDefault))
		case <-kill:
			kill = nil
			_ = killGroup(p.Pid)
		}
	}
}

// interrupt wakes a process that was stopped, for it would not take the signal.
// It may have ended this very moment, which is no error. A shell that runs a
// script waits for its child, which has to be interrupted as well.
func (c call) interrupt(p *os.Process) {
	if c.script != "" {
		_ = syscall.Kill(-p.Pid, syscall.SIGINT)
		_ = syscall.Kill(-p.Pid, syscall.SIGCONT)
		return
	}
	_ = p.Signal(os.Interrupt)
	_ = p.Signal(syscall.SIGCONT)
}

func (s *Session) outcome(c call, asked bool, err error) (int, error) {
	name := s.called(c)
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && c.survives:
		// An apply that ended well has ended well, whoever still holds its output.
		return 0, nil
	case !errors.As(err, &exit):
		return -1, problem.New(api.Unavailable, "%s: %w", name, err)
	case slices.Contains(c.ok, exit.ExitCode()):
		return exit.ExitCode(), nil
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() && (c.script == "" || !asked):
		return -1, &problem.Error{Code: api.Unavailable, Message: name + " was killed (" + status.Signal().String() + ")", Cause: ErrKilled}
	case asked:
		return exit.ExitCode(), s.interrupted(c, "was interrupted")
	}
	return exit.ExitCode(), problem.New(api.Unavailable, "%s ended with exit code %d", name, exit.ExitCode())
}

func (s *Session) interrupted(c call, what string) error {
	return &problem.Error{Code: api.Unavailable, Message: s.called(c) + " " + what, Cause: ErrInterrupted}
}

func (s *Session) called(c call) string {
	if c.script != "" {
		return c.args[0]
	}
	return s.words(c.args)
}

// words names a command without its flags, which may hold secrets.
func (s *Session) words(args []string) string {
	name := s.Tool.Name + " " + args[0]
	if args[0] == "state" || args[0] == "workspace" {
		name += " " + args[1]
	}
	return name
}

// harmless are the flags that may come from TF_CLI_ARGS*: none of them changes
// what is planned, where, or from which state.
var harmless = []string{"-no-color", "-compact-warnings", "-concise", "-input=false"}

var harmlessPrefixes = []string{"-parallelism=", "-lock-timeout="}

// harmlessInit may stand in TF_CLI_ARGS_init besides: the backend that they
// select is bound, and so is the lock file that says which providers they find.
// What moves a state to another backend is not among them.
var harmlessInit = []string{"-reconfigure", "-lockfile=readonly"}

var harmlessInitPrefixes = []string{"-backend-config=", "-plugin-dir="}

// refuseHiddenFlags refuses flags that the environment would add to a command
// behind the warrant's back, such as -target or -state (docs/warrant.md, rule
// 10). A flag that is quoted, or parted from its value, is not recognised and
// refused.
func (s *Session) refuseHiddenFlags(args []string) error {
	words := strings.ReplaceAll(strings.TrimPrefix(s.words(args), s.Tool.Name+" "), " ", "_")
	for _, name := range []string{"TF_CLI_ARGS", "TF_CLI_ARGS_" + words} {
		exact, prefixes, hint := harmless, harmlessPrefixes, "--target, --var, --destroy and their like are flags of `assize plan`"
		if name == "TF_CLI_ARGS_init" {
			exact, prefixes = slices.Concat(exact, harmlessInit), slices.Concat(prefixes, harmlessInitPrefixes)
			hint = "run `" + s.Tool.Name + " init` with these flags yourself, before `assize plan`"
		}
		for _, flag := range strings.Fields(s.Tool.Getenv(name)) {
			if !slices.Contains(exact, flag) && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(flag, p) }) {
				return problem.New(api.Invalid, "%s adds flags to %s that change what it does", name, s.words(args)).
					WithHint("unset %s; %s", name, hint)
			}
		}
	}
	return nil
}

// A buffer holds output up to a bound and swallows the rest, so that a tool
// that runs wild ends by itself.
type buffer struct {
	held bytes.Buffer // no embedding: its ReadFrom would know no bound
	full bool
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.held.Len()+len(p) > captureMax {
		b.full = true
		return len(p), nil
	}
	return b.held.Write(p)
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
