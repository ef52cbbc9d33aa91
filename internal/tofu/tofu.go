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
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
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

	Digests *Digests // of programs that were read before; may be nil
	Asks    string   // who asks for that version: tool_version, or ASSIZE_TOOL_VERSION
}

// Find finds the tool that name asks for, else tofu, else terraform; at
// ASSIZE_TOFU_BIN or ASSIZE_TERRAFORM_BIN, else on the PATH. It must have the
// version, unless that is "". Both are as they hold in the end: where ASSIZE_TOOL
// or ASSIZE_TOOL_VERSION is set, it has replaced what the files say
// (docs/configuration.md, rule 19). A choice that cannot be honoured is an error
// and never falls through to the next one.
func Find(name, version string, getenv func(string) string) (Tool, error) {
	names := []string{"tofu", "terraform"}
	switch name {
	case "":
	case "tofu", "terraform":
		names = []string{name}
	default:
		return Tool{}, problem.New(api.Invalid, "%s is %q, which is neither tofu nor terraform", asks("tool", getenv), name)
	}
	for _, name := range names {
		variable := binVariable(name)
		bin := getenv(variable)
		path, err := lookPath(bin, name)
		if err == nil {
			return Tool{Name: name, Path: path, Pin: version, Asks: asks("tool_version", getenv)}, nil
		}
		if bin != "" {
			return Tool{}, problem.New(api.NotFound, "%s names %s, which is no program that can be run", variable, bin)
		}
	}
	return Tool{}, problem.New(api.NotFound, "no %s was found on the PATH", strings.Join(names, " or ")).
		WithHint("install OpenTofu or Terraform, or set ASSIZE_TOFU_BIN or ASSIZE_TERRAFORM_BIN to the program")
}

// asks is who chose: a key of the settings, unless its variable is set.
func asks(key string, getenv func(string) string) string {
	if variable := "ASSIZE_" + strings.ToUpper(key); getenv(variable) != "" {
		return variable
	}
	return key
}

// binVariable names the variable that says which program a tool is.
func binVariable(name string) string { return "ASSIZE_" + strings.ToUpper(name) + "_BIN" }

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
	digest, err := t.Digests.of(f)
	if err != nil {
		return "", problem.New(api.Unavailable, "%s cannot be read: %w", t.Path, err)
	}
	return digest, nil
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

// Environ is the environment of the tool.
func (t Tool) Environ() []string {
	if t.Env == nil {
		return os.Environ()
	}
	return t.Env
}

// Getenv looks up a variable of the tool's environment; the last one counts,
// as for the process itself.
func (t Tool) Getenv(name string) string {
	value := ""
	for _, entry := range t.Environ() {
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
	for _, entry := range t.Environ() {
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
	Terse bool            // what init says is shown only when it goes wrong
	Spool string          // directory for the output of an apply on its way; "" is the system's own

	// Plugins is a directory of providers that stacks share (see
	// [Tool.PluginCache]); "" leaves that to the tool.
	Plugins string

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
		return "", problem.New(api.Unavailable, "%s is version %s, and %s asks for %s", s.Tool.Path, v.Version, s.Tool.Asks, pin).
			WithHint("install %s %s, or set %s to a program of that version", s.Tool.Name, pin, binVariable(s.Tool.Name))
	}
	return v.Version, nil
}

// Init prepares the directory. Where that has been done before, what it says
// is shown only when it goes wrong.
func (s *Session) Init(ctx context.Context, flags ...string) error {
	return s.init(ctx, exists(s.DataDir()), flags...)
}

// InitLocked is Init that may not change the lock file.
func (s *Session) InitLocked(ctx context.Context, flags ...string) error {
	quiet := exists(s.DataDir()) || !exists(filepath.Join(s.Dir, lockFileName)) // else there are providers to fetch
	return s.init(ctx, quiet, append([]string{"-lockfile=readonly"}, flags...)...)
}

// Select selects a workspace, which it makes first if it may and there is none.
// What it says is shown only when it goes wrong.
func (s *Session) Select(ctx context.Context, name string, create bool) error {
	args := s.color([]string{"workspace", "select"})
	if create {
		args = append(args, "-or-create")
	}
	var said buffer
	_, err := s.run(ctx, call{args: append(args, name), out: &said, err: &said})
	if err != nil {
		s.complain(said.held.Bytes())
	}
	return err
}

// lockFileName is the dependency lock file of both tools.
const lockFileName = ".terraform.lock.hcl"

func (s *Session) init(ctx context.Context, quiet bool, flags ...string) error {
	out, errs, finish := s.streams()
	defer finish()
	var said buffer
	c := call{args: s.color(append([]string{"init", "-input=false"}, flags...)), out: out, err: errs}
	if quiet || s.Terse {
		c.out, c.err = &said, &said
	}
	shelf, err := s.shelve(ctx)
	if err != nil {
		return err
	}
	at := *s
	if shelf != nil {
		defer shelf.close()
		at.Tool.Env = append(slices.Clone(s.Tool.Environ()), cacheVariable+"="+shelf.path)
	}
	_, err = at.run(ctx, c)
	if err != nil {
		s.complain(said.held.Bytes())
	} else if shelf != nil {
		shelf.keep()
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

// Schemas prints what the providers of the directory say of themselves, as JSON.
func (s *Session) Schemas(ctx context.Context) ([]byte, error) {
	return s.capture(ctx, s.color([]string{"providers", "schema", "-json"})...)
}

// Functions prints the signatures of the tool's functions, as JSON.
func (s *Session) Functions(ctx context.Context) ([]byte, error) {
	return s.capture(ctx, s.color([]string{"metadata", "functions", "-json"})...)
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
