package cli

import (
	"cmp"
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

// vouchedNames are the flags that a warrant remembers, in the order of the help.
func vouchedNames() []string {
	return []string{"kind", "commit", "repository", "working-directory", "stack-id", "metadata"}
}

// forgottenNames are those that an apply needs again: a secret does not belong
// in a warrant, and a bound is none of what a plan comes from.
func forgottenNames() []string { return []string{"secret-env", "bound"} }

func (f *provenanceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "how the run came about: manual, tracked or speculative (default manual)")
	flags.StringVar(&f.commit, "commit", "", "the exact commit `SHA` of a tracked or speculative run")
	flags.StringVar(&f.repo, "repository", "", "the provider's `ID` of the repository; for a manual run a cfg_ id, by default made from the plan's digest")
	flags.StringVar(&f.dir, "working-directory", "", "the stack's directory in the repository (default its place in the checkout)")
	flags.StringVar(&f.stack, "stack-id", "", "the stack (workspace, for stackship), by default its directory")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "what is known of the stack: `KEY=VALUE` (repeatable)")
	flags.StringArrayVar(&f.secretEnv, "secret-env", nil, "refuse an input or a verdict that holds the value of the environment variable `NAME` (repeatable)")
	flags.StringArrayVar(&f.bounds, "bound", nil, "raise a bound of the policy input: `NAME=N`, such as nodes=200000 (repeatable)")
}

// read takes the caller at their word. What is not said is that of a manual run
// of dir, the stack's directory.
func (f *provenanceFlags) read(dir string) (policy.Run, error) {
	place := cmp.Or(f.dir, repo.Place(dir))
	run, err := f.over(api.Provenance{
		Kind:    api.ManualRun,
		Source:  api.InputSource{WorkingDirectory: place},
		Subject: api.InputSubject{ID: place, Metadata: map[string]string{}},
	})
	if err != nil {
		return run, err
	}
	return run, f.validate(run)
}

// over takes what is not said from known.
func (f *provenanceFlags) over(known api.Provenance) (run policy.Run, err error) {
	switch api.RunKind(f.kind) {
	case "", api.ManualRun, api.TrackedRun, api.SpeculativeRun:
	default:
		return run, problem.New(api.Invalid, "--kind %s is none of manual, tracked, speculative", f.kind).
			WithHint("leave it out for a run by hand; --kind tracked is one of a commit")
	}
	run.From = input.Provenance{
		Kind: cmp.Or(api.RunKind(f.kind), known.Kind),
		Source: api.InputSource{
			CommitSHA:        known.Source.CommitSHA,
			RepositoryID:     cmp.Or(f.repo, known.Source.RepositoryID),
			WorkingDirectory: cmp.Or(f.dir, known.Source.WorkingDirectory),
		},
		Subject: api.InputSubject{ID: cmp.Or(f.stack, known.Subject.ID), Metadata: known.Subject.Metadata},
	}
	if f.commit != "" {
		run.From.Source.CommitSHA = &f.commit
	}
	if len(f.metadata) > 0 {
		if run.From.Subject.Metadata, err = f.readMetadata(); err != nil {
			return run, err
		}
	}
	if run.From.Secrets, err = f.readSecrets(); err != nil {
		return run, err
	}
	run.Bounds, err = f.readBounds()
	return run, err
}

// validate refuses what was said. Where nothing was, whether a directory's name
// will do is for who needs it.
func (f *provenanceFlags) validate(run policy.Run) error {
	if !f.said() {
		return nil
	}
	bare := run
	bare.From.Secrets = nil
	if err := bare.Validate(); err != nil {
		return &problem.Error{Code: problem.Code(err), Message: err.Error(), Cause: err,
			Hint: "--kind, --commit, --repository, --working-directory, --stack-id and --metadata say where the plan comes from"}
	}
	return run.Validate()
}

// applicable refuses a run that may never be applied (docs/decision.md, rule 5).
func (f *provenanceFlags) applicable() error {
	if f.kind != string(api.SpeculativeRun) {
		return nil
	}
	return problem.New(api.Invalid, "a speculative run is never applied").
		WithHint("judge its plan with `assize policy check --kind speculative`")
}

// vouched is what a warrant keeps of where a plan comes from.
func vouched(from input.Provenance) api.Provenance {
	return api.Provenance{Kind: from.Kind, Source: from.Source, Subject: from.Subject}
}

// said reports whether anything of where the plan came from was said.
func (f *provenanceFlags) said() bool {
	return f.kind+f.commit+f.repo+f.dir+f.stack != "" || len(f.metadata)+len(f.secretEnv) > 0
}

func (f *provenanceFlags) readMetadata() (map[string]string, error) {
	metadata := map[string]string{}
	for _, pair := range f.metadata {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, problem.New(api.Invalid, "--metadata %s is no KEY=VALUE", k).WithHint("such as --metadata environment=production")
		}
		if _, twice := metadata[k]; twice {
			return nil, problem.New(api.Invalid, "--metadata says %s twice", k).WithHint("say each key once")
		}
		metadata[k] = v
	}
	return metadata, nil
}

// readSecrets does not take the caller at their word: a variable that is not set
// could not be looked for, and its absence would look like a clean plan.
func (f *provenanceFlags) readSecrets() (secrets input.Canaries, err error) {
	for _, name := range f.secretEnv {
		value, ok := os.LookupEnv(name)
		if !ok {
			return nil, problem.New(api.Invalid, "--secret-env %s: there is no such environment variable, so its value cannot be looked for", name).
				WithHint("set it for this command, or leave out --secret-env %s", name)
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
