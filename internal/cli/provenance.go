package cli

import (
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
)

// provenanceFlags are what a plan cannot say of itself (docs/decision.md, rule
// 4); a server knows it, and here somebody has to type it.
type provenanceFlags struct {
	kind      string
	commit    string
	repo      string
	dir       string
	stack     string
	metadata  []string
	secretEnv []string
	bounds    []string
}

// provenanceNames are the flags in the order of the help.
func provenanceNames() []string {
	return []string{"kind", "commit", "repository", "working-directory", "stack-id", "metadata", "secret-env", "bound"}
}

func (f *provenanceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", string(api.ManualRun), "how the run came about: manual, tracked or speculative")
	flags.StringVar(&f.commit, "commit", "", "the exact commit `SHA` of a tracked or speculative run")
	flags.StringVar(&f.repo, "repository", "", "the provider's `ID` of the repository; for a manual run a cfg_ id, by default made from the plan's digest")
	flags.StringVar(&f.dir, "working-directory", "", "the stack's directory in the repository (default its place in the checkout)")
	flags.StringVar(&f.stack, "stack-id", "", "the stack (workspace, for stackship), by default its directory")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "what is known of the stack: `KEY=VALUE` (repeatable)")
	flags.StringArrayVar(&f.secretEnv, "secret-env", nil, "refuse an input or a verdict that holds the value of the environment variable `NAME` (repeatable)")
	flags.StringArrayVar(&f.bounds, "bound", nil, "raise a bound of the policy input: `NAME=N`, such as nodes=200000 (repeatable)")
}

// read takes the caller at their word, except for secrets: a variable that is
// not set could not be looked for, and its absence would look like a clean plan.
// dir is the stack's directory.
func (f *provenanceFlags) read(dir string) (run policy.Run, err error) {
	run.From = input.Provenance{
		Kind:    api.RunKind(f.kind),
		Source:  api.InputSource{RepositoryID: f.repo, WorkingDirectory: f.dir},
		Subject: api.InputSubject{ID: f.stack},
	}
	if f.commit != "" {
		run.From.Source.CommitSHA = &f.commit
	}
	if f.dir == "" {
		run.From.Source.WorkingDirectory = repo.Place(dir)
	}
	if f.stack == "" {
		run.From.Subject.ID = run.From.Source.WorkingDirectory
	}
	if run.From.Subject.Metadata, err = f.readMetadata(); err != nil {
		return run, err
	}
	if run.From.Secrets, err = f.readSecrets(); err != nil {
		return run, err
	}
	if run.Bounds, err = f.readBounds(); err != nil || !f.said() {
		return run, err // whether a directory's name will do is for who needs it
	}
	return run, run.Validate()
}

// readToApply is read for a run that may be applied, which a speculative one may
// never be (docs/decision.md, rule 5).
func (f *provenanceFlags) readToApply(dir string) (policy.Run, error) {
	if f.kind == string(api.SpeculativeRun) {
		return policy.Run{}, problem.New(api.Invalid, "a speculative run is never applied").
			WithHint("judge its plan with `assize policy check --kind speculative`")
	}
	return f.read(dir)
}

// said reports whether anything of where the plan came from was said.
func (f *provenanceFlags) said() bool {
	return f.kind != string(api.ManualRun) || f.commit+f.repo+f.dir+f.stack != "" || len(f.metadata)+len(f.secretEnv) > 0
}

func (f *provenanceFlags) readMetadata() (map[string]string, error) {
	metadata := map[string]string{}
	for _, pair := range f.metadata {
		k, v, ok := strings.Cut(pair, "=")
		if _, twice := metadata[k]; !ok || twice {
			return nil, problem.New(api.Invalid, "--metadata %s is no KEY=VALUE, or says a key twice", k)
		}
		metadata[k] = v
	}
	return metadata, nil
}

func (f *provenanceFlags) readSecrets() (secrets input.Canaries, err error) {
	for _, name := range f.secretEnv {
		value, ok := os.LookupEnv(name)
		if !ok {
			return nil, problem.New(api.Invalid, "--secret-env %s: there is no such environment variable, so its value cannot be looked for", name)
		}
		secrets = append(secrets, input.Canary{Name: name, Value: value})
	}
	return secrets, nil
}

// readBounds leaves zero, which is the contract's own bound, where nothing is
// said; whether a bound may be what was said is not decided here.
func (f *provenanceFlags) readBounds() (input.Bounds, error) {
	var b input.Bounds
	for _, pair := range f.bounds {
		name, text, _ := strings.Cut(pair, "=")
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return b, problem.New(api.Invalid, "--bound %s is no NAME=N", pair).WithHint("such as --bound nodes=200000")
		}
		if err := b.Set(name, n); err != nil {
			return b, err
		}
	}
	return b, nil
}
