package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/report"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

func TestMain(m *testing.M) {
	// Tests that run a command in this process judge in children of it.
	if len(os.Args) > 1 && os.Args[1] == confine.Argument {
		os.Exit(run(time.Now))
	}
	testscript.Main(m, map[string]func(){
		"assize": func() { os.Exit(run(clock)) },
	})
}

// clock is the machine's, or stands at NOW where a script has set it.
func clock() time.Time {
	text := os.Getenv("NOW")
	if text == "" {
		return time.Now()
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at
}

// TestScript runs the specification of the command line: every script is a
// session that a person could type, with the real tools.
func TestScript(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, ".bin")
	if _, err := os.Stat(filepath.Join(bin, "tofu")); err != nil {
		t.Fatalf("the scripts need the pinned tools; run `make tools` (%v)", err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "quiet": quiet, "page": page, "server": server, "fetch": fetch},
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", e.Getenv("PATH")+string(os.PathListSeparator)+bin)
			e.Setenv("DATA", filepath.Join(root, "testdata"))
			e.Setenv("TF_CLI_CONFIG_FILE", filepath.Join(bin, "tofurc"))
			e.Setenv("CHECKPOINT_DISABLE", "1")
			running := servers{}
			e.Values[serversKey{}] = running
			e.Defer(func() {
				for _, b := range running {
					_ = b.end(syscall.SIGTERM)
				}
			})
			return nil
		},
	})
}

// quiet runs assize with every output format, asserts the exit code, and wants
// no trace of the canary: quiet CODE ARG...
func quiet(ts *testscript.TestScript, neg bool, args []string) {
	for _, format := range report.Formats() {
		exits(ts, neg, slices.Concat([]string{args[0], "exec", "assize"}, args[1:], []string{"--format", format.Name}))
		for _, stream := range []string{"stdout", "stderr"} {
			if strings.Contains(ts.ReadFile(stream), canary) {
				ts.Fatalf("the secret is in %s of %s", stream, format.Name)
			}
		}
	}
}

// canary is the secret of the scripts.
const canary = "canary-4f1e"

// exits runs a command and asserts its exit code: exits 2 exec assize ...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || args[1] != "exec" {
		ts.Fatalf("usage: exits CODE exec PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[2], args[3:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// TestVersionIsQuick holds the start-up of the whole binary, with three
// evaluators linked, to its budget: the best of several runs, because the
// machine has other things to do.
func TestVersionIsQuick(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "assize")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	best := time.Hour
	for range 20 {
		start := time.Now()
		if err := exec.Command(bin, "version").Run(); err != nil {
			t.Fatal(err)
		}
		if best = min(best, time.Since(start)); best < 150*time.Millisecond {
			return
		}
	}
	t.Errorf("assize version takes %v, want less than 150ms", best)
}
