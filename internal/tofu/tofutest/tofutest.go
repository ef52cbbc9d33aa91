// Package tofutest is a fake tofu with state, for the faults that the real one
// does not have on demand: it hangs, dies half-way, and talks nonsense. The
// fake is the test's own binary, started again; see [Main].
package tofutest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// variable names the script's file in the fake's environment.
const variable = "ASSIZE_TOFUTEST_SCRIPT"

// A Script is what the fake says and where it goes wrong.
type Script struct {
	Version string           // "1.12.6" when empty
	Plan    string           // what show -json prints for every plan it makes
	Faults  map[string]Fault // by subcommand: "plan", "state pull"
}

// A Fault is what goes wrong in one subcommand, after it has done its work.
type Fault struct {
	Files map[string]string // files it writes first, by name in its directory
	Out   string            // printed instead of what it would print
	Err   string            // printed to its standard error
	Exit  int               // its exit code
	Hang  bool              // it stays until it is interrupted
	Stop  bool              // a hanging one stops, as at a terminal
	Deaf  bool              // a hanging one ignores interrupts
	Die   bool              // it is killed before its work is complete
}

// A Fake is one fake tool and the record of its calls.
type Fake struct {
	Path string   // the program
	Env  []string // what it needs in its environment
	log  string
}

// New returns a fake that follows the script.
func New(t testing.TB, s Script) *Fake {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script.json")
	f := &Fake{Path: path, Env: []string{variable + "=" + script}, log: script + ".log"}
	f.Follow(t, s)
	return f
}

// Follow has the fake follow another script from now on.
func (f *Fake) Follow(t testing.TB, s Script) {
	t.Helper()
	data, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(strings.TrimSuffix(f.log, ".log"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Calls lists what the fake was called with, and "(interrupt)" for each signal
// it got, in order.
func (f *Fake) Calls(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile(f.log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// Await waits until the fake has been called with a line that begins so.
func (f *Fake) Await(t testing.TB, prefix string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, call := range f.Calls(t) {
			if strings.HasPrefix(call, prefix) {
				return
			}
		}
	}
	t.Fatalf("the tool was never called with %s: %q", prefix, f.Calls(t))
}

// Main is for TestMain: in a process that was started as the tool it behaves
// as one and does not return.
func Main() {
	path := os.Getenv(variable)
	if path == "" {
		return
	}
	data, err := os.ReadFile(path)
	var s Script
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	os.Exit(act(s, os.Args[1:], path+".log"))
}

// act does the work first and goes wrong afterwards, as real failures do, but
// for what hangs or dies.
func act(s Script, args []string, log string) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt)
	record(log, strings.Join(args, " "))
	name := args[0]
	if name == "state" || name == "workspace" {
		name += " " + args[1]
	}
	fault := s.Faults[name]
	for file, text := range fault.Files {
		must(os.WriteFile(file, []byte(text), 0o600))
	}
	if fault.Hang {
		hang(fault, signals, log)
	}
	exit := work(s, fault, name, args[len(args)-1], flag(args, "-out"))
	fmt.Fprint(os.Stderr, fault.Err)
	if fault.Exit != 0 {
		return fault.Exit
	}
	if fault.Hang {
		return 1
	}
	return exit
}

// hang stays until it is interrupted. A deaf one records interrupts all the
// same, so that a test can count them.
func hang(fault Fault, signals <-chan os.Signal, log string) {
	record(log, "(hangs)")
	if fault.Stop {
		must(syscall.Kill(os.Getpid(), syscall.SIGSTOP))
	}
	for range signals {
		record(log, "(interrupt)")
		if !fault.Deaf {
			return
		}
	}
}

// work knows no more of each subcommand than its callers look at.
func work(s Script, fault Fault, name, last, out string) int {
	exit, says := 0, ""
	switch name {
	case "version":
		version := s.Version
		if version == "" {
			version = "1.12.6"
		}
		says = fmt.Sprintf(`{"terraform_version": %q}`, version)
	case "init":
		must(os.MkdirAll(dataDir(), 0o700))
		says = "initialised\n"
	case "workspace select":
		must(os.WriteFile(filepath.Join(dataDir(), "environment"), []byte(last), 0o600))
		says = "selected\n"
	case "plan":
		must(os.WriteFile(out, []byte("plan\n"+s.Plan), 0o600))
		says, exit = "planned\n", 2
	case "show":
		data, err := os.ReadFile(last)
		must(err)
		says = strings.TrimPrefix(string(data), "plan\n")
	case "state pull":
		data, _ := os.ReadFile("terraform.tfstate")
		says = string(data)
	case "apply":
		if fault.Die {
			must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
		}
		Advance(".")
		says = "applied\n"
	}
	if fault.Out != "" {
		says = fault.Out
	}
	fmt.Print(says)
	return exit
}

func dataDir() string {
	if dir := os.Getenv("TF_DATA_DIR"); dir != "" {
		return dir
	}
	return ".terraform"
}

// Advance moves the state in dir on by one serial, as an apply does.
func Advance(dir string) {
	state := struct {
		Lineage string `json:"lineage"`
		Serial  int    `json:"serial"`
	}{Lineage: "lineage-1"}
	path := filepath.Join(dir, "terraform.tfstate")
	if data, err := os.ReadFile(path); err == nil {
		must(json.Unmarshal(data, &state))
	}
	state.Serial++
	data, err := json.Marshal(state)
	must(err)
	must(os.WriteFile(path, data, 0o600))
}

func flag(args []string, name string) string {
	for _, arg := range args {
		if v, ok := strings.CutPrefix(arg, name+"="); ok {
			return v
		}
	}
	return ""
}

// record appends in one write, for two processes of one test may call at once.
func record(log, line string) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(err)
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	must(err)
}

// must ends a fake that cannot do its work in a way that no test expects.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
}
