package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/gowebpki/jcs"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// Seal issues the warrant of a plan. It issues none when a policy did not
// pass, so that a warrant for a refused plan cannot come into being.
func Seal(b api.Binding, verdicts []api.Verdict, s api.Summary, created time.Time) (api.Warrant, error) {
	w := api.Warrant{
		Format: api.WarrantFormat, Created: created.UTC().Format(time.RFC3339),
		Binding: b, Verdicts: append([]api.Verdict{}, verdicts...), Summary: s,
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
func Encode(w api.Warrant) ([]byte, error) {
	text, err := json.MarshalIndent(w, "", "  ")
	if err != nil {
		return nil, problem.New(api.Internal, "the warrant cannot be written: %w", err)
	}
	return append(text, '\n'), nil
}

// Open reads a warrant and refuses one that this build does not understand in
// full, or whose seal is not that of its content (docs/warrant.md, rule 2).
func Open(data []byte) (api.Warrant, error) {
	var w api.Warrant
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&w)
	if err == nil {
		// Anything after the value would be a second opinion.
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			err = errors.New("something follows it")
		}
	}
	if err != nil {
		return api.Warrant{}, damaged("the warrant cannot be read: %w", err)
	}
	if err := intact(w); err != nil {
		return api.Warrant{}, err
	}
	return w, nil
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
	for _, d := range []string{b.Plan, b.Document, b.Configuration, b.Variables, b.Backend, b.Tool.Name, b.Tool.Version, b.Tool.Digest, b.Workspace} {
		if d == "" {
			return damaged("the warrant does not say what the plan was made from")
		}
	}
	// These are shown to people before anything is compared; a forged warrant
	// must not speak to their terminal.
	if _, err := time.Parse(time.RFC3339, w.Created); err != nil || !plain(b.Tool.Name) || !plain(b.Tool.Version) || !plain(b.Workspace) {
		return damaged("the warrant names a time, tool or workspace that is none")
	}
	for _, v := range w.Verdicts {
		if v.Input != b.Document {
			return damaged("the warrant names a verdict on another plan")
		}
	}
	if len(w.Verdicts) > 0 && policy.Compose(w.Verdicts) != api.Passed {
		return damaged("the warrant names a policy that did not pass")
	}
	return nil
}

// plain reports whether a name is one that both tools allow for a version or a
// workspace, as far as it matters for showing it.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

// digest is that of the warrant's canonical JSON without its seal (RFC 8785),
// so that neither white space nor the order of keys matters.
func digest(w api.Warrant) (string, error) {
	body, err := json.Marshal(struct {
		api.Warrant
		Seal string `json:"seal,omitempty"` // hides the warrant's own
	}{Warrant: w})
	if err != nil {
		return "", problem.New(api.Internal, "the warrant cannot be sealed: %w", err)
	}
	canonical, err := jcs.Transform(body)
	if err != nil {
		return "", problem.New(api.Internal, "the warrant cannot be sealed: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func damaged(format string, args ...any) *problem.Error {
	return problem.New(api.Stale, format, args...).WithHint("assize plan makes a new plan and its warrant")
}
