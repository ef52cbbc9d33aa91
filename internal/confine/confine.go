// Package confine does work in a child process of the same binary: with an empty
// environment, no files, no network, no processes of its own, and limits on memory,
// processor time, wall time and the size of the answer (docs/policy.md, rule 33).
// Policies and specifications are programs that somebody else wrote, in languages that
// cannot be bounded from inside.
//
// Whatever goes wrong in the child is an error, and nothing that it wrote but a frame
// of the right size is handed on: a stack trace holds values of what was evaluated.
// The package knows no work; what can be done is its caller's.
package confine

import (
	"fmt"
	"strconv"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Argument is the first argument of a child. A main that finds it there hands
// over to [Child] before it does anything else.
const Argument = "__confined"

// A Task is what children are started for.
type Task struct {
	Work   string // by which name Child knows it
	Limits Limits
	Words  Words
}

// Limits bound one child. Zero means the default.
type Limits struct {
	Memory uint64        // bytes
	CPU    time.Duration // rounded up to seconds; the kernel counts no less
	Wall   time.Duration // of one answer
	Answer int           // bytes
}

// The defaults fit plans of a hundred thousand changes.
const (
	defaultMemory = 2 << 30
	defaultCPU    = 60 * time.Second
	defaultWall   = 90 * time.Second
	defaultAnswer = 8 << 20
)

// maxStack bounds how deep an evaluation may recurse, in bytes of stack. A
// goroutine that grows to the memory limit spends its time being copied.
const maxStack = 64 << 20

// Words say of a task what went wrong with it.
type Words struct {
	Do, Doing string // judge, judging
	Subject   string // the policy: what the child runs
	Answer    string // the verdict
	LessWork  string // the hint of a limit
	LessSaid  string // the hint of an answer that is too large
}

// OrDefault returns l with the default for each limit that is zero.
func (l Limits) OrDefault() Limits {
	if l.Memory == 0 {
		l.Memory = defaultMemory
	}
	if l.CPU == 0 {
		l.CPU = defaultCPU
	}
	if l.Wall == 0 {
		l.Wall = defaultWall
	}
	if l.Answer == 0 {
		l.Answer = defaultAnswer
	}
	return l
}

// cpuSeconds is what the kernel can count, never less than what was asked.
func (l Limits) cpuSeconds() uint64 {
	return uint64((l.CPU + time.Second - 1) / time.Second)
}

// arguments are those of a child; [parseArguments] reads them there. They are
// no secret, and the limits must hold before the child reads anything.
func (t Task) arguments() []string {
	return []string{Argument, t.Work, strconv.FormatUint(t.Limits.Memory, 10), strconv.FormatUint(t.Limits.cpuSeconds(), 10)}
}

func parseArguments(args []string) (work string, l Limits, err error) {
	if len(args) != 4 || args[0] != Argument {
		return "", l, fmt.Errorf("want %s WORK MEMORY SECONDS", Argument)
	}
	if l.Memory, err = strconv.ParseUint(args[2], 10, 63); err != nil {
		return "", l, err
	}
	seconds, err := strconv.ParseUint(args[3], 10, 31)
	if err != nil {
		return "", l, err
	}
	if l.Memory == 0 || seconds == 0 {
		return "", l, fmt.Errorf("a limit of zero")
	}
	l.CPU = time.Duration(seconds) * time.Second
	return args[1], l, nil
}

// failed is an error of a task.
func (t Task) failed(code api.Code, format string, args ...any) *problem.Error {
	return problem.New(code, "could not %s: %s", t.Words.Do, fmt.Sprintf(format, args...))
}

// exceeded is the error of a limit.
func (t Task) exceeded(format, bound string) error {
	return t.failed(api.Limited, "%s %s", t.Words.Subject, fmt.Sprintf(format, bound)).WithHint("%s", t.Words.LessWork)
}

// Improper is the error of a child whose answer is none.
func (t Task) Improper() error {
	return t.failed(api.Internal, "the %s process gave no proper answer", t.Words.Doing)
}

// size writes a number of bytes as people set it.
func size(n uint64) string {
	for _, unit := range []struct {
		bytes uint64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return fmt.Sprintf("%d %s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
