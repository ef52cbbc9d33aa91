package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// Seal issues the warrant of a plan. It issues none when a policy said no for
// good or could not judge, so that a warrant for a refused plan cannot come
// into being. Place is that of the stack, as in [Facts]. A plan that was made
// against what other stacks will be names them: it is conditional, and its warrant
// is good for no apply (docs/warrant.md, rule 19).
func Seal(run string, b api.Binding, place string, verdicts []api.Verdict, s api.Summary, created time.Time, upstream ...string) (api.Warrant, error) {
	w := api.Warrant{
		Format: api.WarrantFormat, Run: run, Created: created.UTC().Format(time.RFC3339),
		Binding: b, Upstream: append([]string{}, upstream...), Place: place, Verdicts: append([]api.Verdict{}, verdicts...), Summary: s,
	}
	if len(verdicts) > 0 {
		c, err := Compose(verdicts)
		if err != nil {
			return api.Warrant{}, err
		}
		w.Composition = &c
	}
	if err := sound(w); err != nil {
		return api.Warrant{}, err
	}
	seal, err := digest(w)
	if err != nil {
		return api.Warrant{}, err
	}
	w.Seal = seal
	return w, nil
}

// Encode writes a warrant for a file.
func Encode(w api.Warrant) ([]byte, error) { return encode("the warrant", w) }

func encode(what string, v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, problem.New(api.Internal, "%s cannot be written: %w", what, err)
	}
	return append(text, '\n'), nil
}

// Open reads a warrant and refuses one that this build does not understand in
// full, or whose seal is not that of its content (docs/warrant.md, rule 2).
func Open(data []byte) (api.Warrant, error) {
	var w api.Warrant
	if err := decode(data, &w); err != nil {
		return api.Warrant{}, damaged("the warrant cannot be read: %w", err)
	}
	if err := intact(w); err != nil {
		return api.Warrant{}, err
	}
	return w, nil
}

// decode reads exactly one JSON value without unknown fields.
func decode(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	// Anything after the value would be a second opinion.
	if _, err := dec.Token(); err == nil {
		return errors.New("something follows it")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// intact refuses a warrant that is not exactly what was sealed.
func intact(w api.Warrant) error {
	if w.Format != api.WarrantFormat {
		return damaged("the warrant has format %d; this version reads %d", w.Format, api.WarrantFormat)
	}
	seal, err := digest(w)
	if err != nil {
		return err
	}
	if w.Seal != seal {
		return damaged("the warrant is not what was sealed: it has been changed or damaged")
	}
	return sound(w)
}

// sound refuses content that no warrant may have, whatever its seal.
func sound(w api.Warrant) error {
	b := w.Binding
	// A lock file and a state may not exist yet; everything else does.
	for _, d := range []string{b.Plan, b.Document, b.Configuration, b.Variables, b.Backend, b.Settings, b.Tool.Name, b.Tool.Version, b.Tool.Digest, b.Workspace} {
		if d == "" {
			return damaged("the warrant does not say what the plan was made from")
		}
	}
	// These are shown to people before anything is compared; a forged warrant
	// must not speak to their terminal.
	if _, err := time.Parse(time.RFC3339, w.Created); err != nil || !plain(b.Tool.Name) || !plain(b.Tool.Version) || !plain(b.Workspace) {
		return damaged("the warrant names a time, tool or workspace that is none")
	}
	if k := b.Provenance.Kind; k != api.ManualRun && k != api.TrackedRun {
		return damaged("the warrant is of a run of the kind %q, which is never applied", k)
	}
	for _, v := range w.Verdicts {
		if v.Input != b.Document {
			return damaged("the warrant names a verdict on another plan")
		}
	}
	if !runID.MatchString(w.Run) {
		return damaged("the warrant names a run that is none")
	}
	return recorded(w)
}

var runID = regexp.MustCompile(`^run_[0-9a-f]{32}$`)

// recorded refuses verdicts and a composition that do not say the same, or that
// no override could let pass.
func recorded(w api.Warrant) error {
	if len(w.Verdicts) == 0 {
		if w.Composition != nil {
			return damaged("the warrant names results and no verdict")
		}
		return nil
	}
	if s := policy.Strongest(w.Verdicts); s != api.StandsPassed && s != api.StandsSoftFailed {
		return damaged("the warrant names a policy that did not pass")
	}
	if w.Composition == nil || !composes(*w.Composition, w.Verdicts) {
		return damaged("the warrant's results are not those of its verdicts")
	}
	return nil
}

// plain reports whether a name is one that both tools allow for a version or a
// workspace, as far as it matters for showing it.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

// digest is that of the warrant without its seal.
func digest(w api.Warrant) (string, error) {
	return canonical(struct {
		api.Warrant
		Seal string `json:"seal,omitempty"` // hides the warrant's own
	}{Warrant: w})
}

func damaged(format string, args ...any) *problem.Error {
	return problem.New(api.Stale, format, args...).WithHint("assize plan makes a new plan and its warrant")
}
