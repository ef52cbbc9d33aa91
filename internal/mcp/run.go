package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// An Outcome is what a tool came to.
type Outcome struct {
	ExitCode int    `json:"exit_code" jsonschema:"0 done, 2 there are changes, 3 refused, 5 a policy is violated, 6 the specification does not evaluate, else an error"`
	Output   string `json:"output" jsonschema:"what the command printed; sensitive values are masked"`
	Messages string `json:"messages,omitempty" jsonschema:"errors and hints"`
}

// outputMax is how much of an output an agent gets, in bytes of each stream.
const outputMax = 256 << 10

// safe refuses words of an agent that could be taken for anything but what they are.
// Nothing has been started yet (docs/mcp.md, rule 4).
func safe(words ...string) error {
	for _, word := range words {
		switch {
		case word == "":
			return problem.New(api.Invalid, "an argument is empty").WithHint("leave it out, or say what it is")
		case strings.HasPrefix(word, "-"):
			return problem.New(api.Invalid, "an argument begins with -: %.40q could be read as a flag", word).
				WithHint("flags are not for tools to give")
		case strings.ContainsAny(word, "\x00\n\r"):
			return problem.New(api.Invalid, "an argument holds more than one line")
		}
	}
	return nil
}

// in runs one command of assize in a directory, and tells the agent what it says on the way. It is
// interrupted, not killed, when the agent goes away: an apply must be able to write
// down what it has done.
func (s *server) in(ctx context.Context, req *mcp.CallToolRequest, dir string, args ...string) (Outcome, error) {
	cmd := exec.CommandContext(ctx, s.options.Program, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Minute
	var out, messages clipped
	told := progress(ctx, req)
	defer told.Close()
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, told), io.MultiWriter(&messages, told)
	err := cmd.Run()
	o := Outcome{Output: s.policies.shown(out.String()), Messages: s.policies.shown(messages.String())}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		o.ExitCode = exit.ExitCode()
	case err != nil:
		return o, problem.New(api.Unavailable, "assize could not be started: %w", err)
	}
	return o, nil
}

// clipped keeps the beginning of what is written.
type clipped struct {
	buffer bytes.Buffer
	left   bool // something was left out
}

func (c *clipped) Write(p []byte) (int, error) {
	room := max(0, outputMax-c.buffer.Len())
	c.left = c.left || len(p) > room
	c.buffer.Write(p[:min(len(p), room)])
	return len(p), nil
}

func (c *clipped) String() string {
	if c.left {
		return strings.ToValidUTF8(c.buffer.String(), "") + "\n[the rest was left out]"
	}
	return c.buffer.String()
}

// progress tells an agent that asked for it each line as it comes.
func progress(ctx context.Context, req *mcp.CallToolRequest) io.WriteCloser {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nowhere{}
	}
	r, w := io.Pipe()
	var n atomic.Int64
	go func() {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: line, Progress: float64(n.Add(1))})
			}
		}
		_, _ = io.Copy(io.Discard, r) // a line that is too long for a message
	}()
	return w
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }
