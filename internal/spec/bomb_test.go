package spec_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec"
)

// bombs are specifications that need more than there is: each is small, legal, and
// found no bound in CUE. want is what the error says; at is a place that it names, if
// the text tells one.
var bombs = []struct{ name, text, want, at string }{
	{"range", "import \"list\"\n_x: list.Range(0, 300000000, 1)\nx: len(_x)", "needed more than", "bomb.cue:3:5"},
	{"loops", "import \"list\"\n_r: list.Range(0, 3000, 1)\nx: len([for a in _r for b in _r {a * b}])", "needed more than", "bomb.cue:4:9"},
	{"nested loops", "_r: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\nx: {for a in _r {for b in _r {for c in _r {for d in _r {for e in _r {for f in _r {\"\\(a)\\(b)\\(c)\\(d)\\(e)\\(f)\": 1}}}}}}}", "needed more than", "bomb.cue:3:18"},
	{"text", doubled("_s%d: _s%d + _s%d\n", `_s0: "xxxxxxxx"`) + `$output: x: _s40`, "needed more than", "bomb.cue:4:6"},
	{"alternatives", alternatives(28) + "x: len(_x)", "needed more than", ""},
	{"large", "import \"list\"\nimport \"strings\"\n_x: strings.Repeat(\"x\", 1000000)\n$output: x: strings.Join([for i in list.Range(0, 70, 1) {_x}], \"\")", "could not evaluate .: ", ""},
}

func doubled(line, first string) string {
	text := first + "\n"
	for i := range 40 {
		text += fmt.Sprintf(line, i+1, i, i)
	}
	return text
}

// alternatives are n of two each, of which every choice is another struct.
func alternatives(n int) string {
	var b strings.Builder
	b.WriteString("_x: ")
	for i := range n {
		fmt.Fprintf(&b, "({a%d: 1} | {a%d: 2, b%d: 1}) & ", i, i, i)
	}
	return b.String() + "_\n"
}

// TestBombs: whatever a specification is, what becomes of it is said in time, as an
// error of the specification, with a hint; and a limit names the places in the text
// that make much of little.
func TestBombs(t *testing.T) {
	t.Parallel()
	tools := tools(t)
	limits := spec.Limits{Memory: 256 << 20, CPU: 2 * time.Second, Wall: 40 * time.Second}
	for _, bomb := range bombs {
		t.Run(bomb.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "bomb.cue"), []byte("package estate\n"+bomb.text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err := compile(spec.Root{Dir: dir, Name: "."}, limits, tools)
			var wrong *spec.Error
			if !errors.As(err, &wrong) || problem.Hint(err) == "" || !strings.Contains(err.Error(), bomb.want) || !strings.Contains(err.Error(), bomb.at) {
				t.Errorf("%v\nhint: %s", err, problem.Hint(err))
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
			t.Log(err)
		})
	}
}

// TestUnreadable: what might never end is not read, and what is too much is refused
// before anything is evaluated.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string) error{
		"more.cue cannot be read": func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "more.cue"), 0o600) },
		"zero.cue cannot be read": func(dir string) error { return os.Symlink("/dev/zero", filepath.Join(dir, "zero.cue")) },
		"the files of . are more than a specification may have": func(dir string) error {
			return os.Truncate(filepath.Join(dir, "estate.cue"), 65<<20)
		},
		"module.cue is too large": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "cue.mod"), 0o700), os.WriteFile(filepath.Join(dir, "cue.mod", "module.cue"), bytes.Repeat([]byte("("), 65<<10), 0o600))
		},
	} {
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "estate.cue"), []byte("package estate\n"), 0o600), spoil(dir)); err != nil {
			t.Fatal(err)
		}
		if !spec.In(dir) {
			t.Errorf("%s: no specification any more", name)
		}
		if _, err := spec.Begin(spec.Root{Dir: dir, Name: "."}, spec.Limits{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInterrupted: whoever does not want to wait any longer need not.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bomb.cue"), []byte("package estate\n"+bombs[2].text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := spec.Begin(spec.Root{Dir: dir, Name: "."}, spec.Limits{Wall: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Equip(tools(t)); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, e.Interrupt)
	start := time.Now()
	if _, err := e.Compile(); err == nil || !strings.Contains(err.Error(), "died") {
		t.Errorf("%v", err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}
