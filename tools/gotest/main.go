// Command gotest runs go test, shows one line for each package and everything
// that a failed test said, and fails when a test was skipped: one that did not
// run has shown nothing.
//
//	gotest ./...
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		return 1
	}
	r := report{said: map[string][]string{}, out: os.Stdout}
	r.read(out)
	err = cmd.Wait()
	if len(r.skipped) > 0 {
		fmt.Printf("skipped tests are failures:\n  %s\n", strings.Join(r.skipped, "\n  "))
		return 1
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		return 1
	}
	return 0
}

// An event is one line of go test -json (go doc cmd/test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of what does not build
	Test       string
	Output     string
}

// A report holds back what each test says until it is known how it ended.
type report struct {
	said    map[string][]string // by package and top-level test
	skipped []string
	out     io.Writer
}

func (r *report) read(events io.Reader) {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			r.event(e)
		} else {
			r.out.Write(line) // not ours to judge, so not ours to hide
		}
		if err != nil {
			return
		}
	}
}

func (r *report) event(e event) {
	// Subtests belong to their test, whose end comes last and says it all.
	test, _, isSub := strings.Cut(e.Test, "/")
	key := e.Package + " " + test
	switch e.Action {
	case "build-output":
		io.WriteString(r.out, e.Output)
	case "output":
		switch {
		case test != "":
			r.said[key] = append(r.said[key], e.Output)
		case e.Output != "PASS\n" && !strings.HasSuffix(e.Output, "[no test files]\n"):
			io.WriteString(r.out, e.Output)
		}
	case "skip":
		if test != "" {
			r.skipped = append(r.skipped, e.Package+" "+e.Test)
		}
	case "fail":
		if test == "" {
			r.unfinished(e.Package)
		} else if !isSub {
			r.show(key)
		}
	case "pass":
		if test != "" && !isSub {
			delete(r.said, key)
		}
	}
}

// unfinished shows what tests said that never ended: a panic or a time-out
// ends the package, not the test.
func (r *report) unfinished(pkg string) {
	for key := range r.said {
		if strings.HasPrefix(key, pkg+" ") {
			r.show(key)
		}
	}
}

// show prints what a test said without the runner's own marks.
func (r *report) show(key string) {
	for _, line := range r.said[key] {
		if !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(strings.TrimLeft(line, " "), "--- PASS: ") {
			io.WriteString(r.out, line)
		}
	}
	delete(r.said, key)
}
