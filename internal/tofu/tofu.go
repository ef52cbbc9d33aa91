// Package tofu runs OpenTofu or Terraform: it finds the program, starts its
// subcommands, streams what they say, and hands over interrupts. It must not
// know of policies, warrants, or whether a plan is any good.
//
// The idea to know: a command that only reads dies with this process, and an
// apply does not. Killing an apply loses the state of what it has just made,
// so it is asked to stop, and left alone (docs/warrant.md, rule 9).
package tofu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/redact"
)

// A Tool is one program that was found, and the environment it runs in.
type Tool struct {
	Name string   // tofu or terraform
	Path string   // absolute
	Env  []string // as in exec.Cmd: nil is this process's own
	Pin  string   // the version it must have; "" for any
}

// Find finds the tool: the one ASSIZE_TOOL names, else tofu, else terraform;
// at ASSIZE_TOFU_BIN or ASSIZE_TERRAFORM_BIN, else on the PATH. A choice that
// cannot be honoured is an error and never falls through to the next one.
func Find(getenv func(string) string) (Tool, error) {
	names := []string{"tofu", "terraform"}
	switch name := getenv("ASSIZE_TOOL"); name {
	case "":
	case "tofu", "terraform":
		names = []string{name}
	default:
		return Tool{}, problem.New(api.Invalid, "ASSIZE_TOOL is %q, which is neither tofu nor terraform", name)
	}
	for _, name := range names {
		variable := "ASSIZE_" + strings.ToUpper(name) + "_BIN"
		bin := getenv(variable)
		path, err := lookPath(bin, name)
		if err == nil {
			return Tool{Name: name, Path: path, Pin: getenv("ASSIZE_TOOL_VERSION")}, nil
		}
		if bin != "" {
			return Tool{}, problem.New(api.NotFound, "%s names %s, which is no program that can be run", variable, bin)
		}
	}
	return Tool{}, problem.New(api.NotFound, "no %s was found on the PATH", strings.Join(names, " or ")).
		WithHint("install OpenTofu or Terraform, or set ASSIZE_TOFU_BIN or ASSIZE_TERRAFORM_BIN to the program")
}

func lookPath(bin, name string) (string, error) {
	if bin != "" {
		name = bin
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path) // the tool runs in another directory
}

// Digest is that of the program's bytes.
func (t Tool) Digest() (string, error) {
	f, err := os.Open(t.Path)
	if err != nil {
		return "", problem.New(api.Unavailable, "%s cannot be read: %w", t.Path, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", problem.New(api.Unavailable, "%s cannot be read: %w", t.Path, err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Show prints a saved plan as JSON, in which secrets stand in clear. What the
// tool complains about goes to complaints, without colours if plain.
func (t Tool) Show(ctx context.Context, dir, planFile string, complaints io.Writer, plain bool) ([]byte, error) {
	path := planFile
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, problem.New(api.NotFound, "%s does not exist", planFile).WithHint("%s plan -out=%s", t.Name, planFile)
	}
	if err == nil && info.IsDir() {
		return nil, problem.New(api.Invalid, "%s is a directory, not a plan", planFile).
			WithHint("name the file that `%s plan -out=FILE` wrote", t.Name)
	}
	s := Session{Tool: t, Dir: dir, Out: io.Discard, Err: complaints, Plain: plain}
	raw, err := s.Show(ctx, planFile)
	if err == nil || errors.Is(err, ErrInterrupted) {
		return raw, err
	}
	hint := "name the file that `" + t.Name + " plan -out=FILE` wrote, in the directory where it ran"
	if !exists(s.DataDir()) { // which has the providers that a plan is shown by
		hint = "run `" + t.Name + " init` in the directory of the configuration, and this command there"
	}
	return nil, &problem.Error{Code: problem.Code(err), Message: planFile + " cannot be shown: " + err.Error(), Hint: hint, Cause: err}
}

func (t Tool) environ() []string {
	if t.Env == nil {
		return os.Environ()
	}
	return t.Env
}

// Getenv looks up a variable of the tool's environment; the last one counts,
// as for the process itself.
func (t Tool) Getenv(name string) string {
	value := ""
	for _, entry := range t.environ() {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// Variables lists the TF_VAR_* entries of the tool's environment.
func (t Tool) Variables() map[string]string {
	return t.Matching(func(name string) bool { return strings.HasPrefix(name, "TF_VAR_") })
}

// Matching lists the entries of the tool's environment whose names match.
func (t Tool) Matching(match func(name string) bool) map[string]string {
	vars := map[string]string{}
	for _, entry := range t.environ() {
		if name, value, ok := strings.Cut(entry, "="); ok && match(name) {
			vars[name] = value
		}
	}
	return vars
}

// A Session is one tool at work in one directory. Its methods run one at a time.
type Session struct {
	Tool  Tool
	Dir   string
	Out   io.Writer       // what the tool prints, as it comes
	Err   io.Writer       // what it complains about
	Force <-chan struct{} // closed by a second Ctrl-C; may be nil
	Plain bool            // no colours
	Spool string          // directory for the output of an apply on its way; "" is the system's own

	Secrets *redact.Set // kept out of what the tool prints through this process; nil for none

	// Grace is how long the tool has after the second interrupt, which tells
	// it to exit at once, before it is killed; 0 is ten seconds.
	Grace time.Duration
}

// DataDir is where the tool keeps modules and the chosen workspace.
func (s *Session) DataDir() string {
	name := s.Tool.Getenv("TF_DATA_DIR")
	if name == "" {
		name = ".terraform"
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Dir, name)
}

// Workspace is the tool's own notion of it, read as the tool reads it.
func (s *Session) Workspace() (string, error) {
	if name := s.Tool.Getenv("TF_WORKSPACE"); name != "" {
		return name, nil
	}
	data, err := os.ReadFile(filepath.Join(s.DataDir(), "environment"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", problem.New(api.Unavailable, "the workspace cannot be read: %w", err)
	}
	if name := strings.TrimSpace(string(data)); name != "" {
		return name, nil
	}
	return "default", nil
}

// Version asks the tool for its version; what does not answer like one of the
// two tools is refused.
func (s *Session) Version(ctx context.Context) (string, error) {
	out, err := s.capture(ctx, "version", "-json")
	if err != nil {
		return "", err
	}
	var v struct {
		Version string `json:"terraform_version"` // both tools
	}
	if json.Unmarshal(out, &v) != nil || v.Version == "" {
		return "", problem.New(api.Unavailable, "%s does not say its version; is it %s?", s.Tool.Path, s.Tool.Name)
	}
	// It is shown to people, and a program that can be chosen can say anything.
	if strings.ContainsFunc(v.Version, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", problem.New(api.Unavailable, "%s says a version that is none: %q", s.Tool.Path, v.Version)
	}
	if pin := s.Tool.Pin; pin != "" && pin != v.Version {
		return "", problem.New(api.Unavailable, "%s is version %s, and ASSIZE_TOOL_VERSION asks for %s", s.Tool.Path, v.Version, pin)
	}
	return v.Version, nil
}

// Init prepares the directory. Where that has been done before, what it says
// is shown only when it goes wrong.
func (s *Session) Init(ctx context.Context) error {
	return s.init(ctx, exists(s.DataDir()))
}

// InitLocked is Init that may not change the lock file.
func (s *Session) InitLocked(ctx context.Context) error {
	quiet := exists(s.DataDir()) || !exists(filepath.Join(s.Dir, ".terraform.lock.hcl")) // else there are providers to fetch
	return s.init(ctx, quiet, "-lockfile=readonly")
}

func (s *Session) init(ctx context.Context, quiet bool, flags ...string) error {
	out, errs, finish := s.streams()
	defer finish()
	var said buffer
	c := call{args: s.color(append([]string{"init", "-input=false"}, flags...)), out: out, err: errs}
	if quiet {
		c.out, c.err = &said, &said
	}
	_, err := s.run(ctx, c)
	if err != nil {
		s.complain(said.held.Bytes())
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Plan makes a plan and saves it in file; it reports whether anything changes.
func (s *Session) Plan(ctx context.Context, file string, flags []string) (changes bool, err error) {
	args := append([]string{"plan", "-input=false", "-detailed-exitcode", "-out=" + file}, flags...)
	out, errs, finish := s.streams()
	defer finish()
	exit, err := s.run(ctx, call{args: s.color(args), out: out, err: errs, ok: []int{2}})
	return exit == 2, err
}

// Show prints a saved plan as JSON, in which secrets stand in clear: it goes
// to the caller alone.
func (s *Session) Show(ctx context.Context, file string) ([]byte, error) {
	return s.capture(ctx, append(s.color([]string{"show", "-json"}), file)...)
}

// Applicable reports what would keep [Session.Apply] from being started.
func (s *Session) Applicable() error { return s.refuseHiddenFlags([]string{"apply"}) }

// Apply applies a saved plan. It survives this process and the readers of its
// output.
func (s *Session) Apply(ctx context.Context, file string) error {
	// This process outlives them as well, to say how it ended. A handler is not
	// handed down to the tool, as an ignored signal would be.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	args := s.color([]string{"apply", "-input=false"})
	out, errs, finish := s.streams()
	defer finish() // after the spool has been shown
	shown := newSpool()
	c, err := shown.take(s.Spool, call{args: append(args, file), out: out, err: errs, survives: true})
	if err != nil {
		return problem.New(api.Unavailable, "there is no place for the output of %s, which was not started: %w", s.words(args), err)
	}
	go shown.show()
	defer shown.close()
	_, err = s.run(ctx, c)
	return err
}

// State identifies the current state; it is empty where there is none yet.
// Of the state itself, which holds secrets, nothing is kept.
func (s *Session) State(ctx context.Context) (api.State, error) {
	out, err := s.capture(ctx, "state", "pull")
	if err != nil {
		return api.State{}, err
	}
	if strings.TrimSpace(string(out)) == "" {
		return api.State{}, nil
	}
	var state struct {
		Lineage string `json:"lineage"`
		Serial  *int64 `json:"serial"`
	}
	err = json.Unmarshal(out, &state)
	if err == nil && state.Lineage == "" && state.Serial != nil && *state.Serial == 0 {
		return api.State{}, nil // the http backend has an empty state before the first one
	}
	if err != nil || state.Lineage == "" || state.Serial == nil {
		return api.State{}, problem.New(api.Unavailable, "the state does not say its lineage and serial").
			WithHint("look at what `%s state pull` prints", s.Tool.Name)
	}
	return api.State{Lineage: state.Lineage, Serial: *state.Serial}, nil
}

func (s *Session) color(args []string) []string {
	if s.Plain {
		return append(args, "-no-color")
	}
	return args
}
