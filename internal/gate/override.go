package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// OverrideMax is how long an override may last (seed 000, "Soft overrides").
const OverrideMax = 24 * time.Hour

const (
	justificationMax = 2_000 // characters
	actorMax         = 200
)

const overrideIt = "assize override"

// A Grant is somebody's word that soft failures may pass.
type Grant struct {
	Results       []string // digests of what is overridden; none means every result that needs it
	Actor         string
	Justification string
	Expires       time.Time
}

// Soft lists the results of a warrant that need an override each.
func Soft(w api.Warrant) []api.Result {
	var soft []api.Result
	if w.Composition == nil {
		return nil
	}
	for _, r := range w.Composition.Results {
		if policy.Stand(api.Verdict{Outcome: r.Outcome, Enforcement: r.Enforcement}) == api.StandsSoftFailed {
			soft = append(soft, r)
		}
	}
	return soft
}

// Override makes the overrides that a grant stands for; now is when. It refuses
// to override what needs no override (docs/warrant.md, rule 12).
func Override(w api.Warrant, g Grant, now time.Time) (api.Overrides, error) {
	soft, err := selected(Soft(w), g.Results)
	if err != nil {
		return api.Overrides{}, err
	}
	now = now.UTC().Truncate(time.Second) // as it is written
	doc := api.Overrides{Format: api.OverrideFormat}
	for _, r := range soft {
		o := api.Override{
			Run: w.Run, Plan: w.Binding.Plan, Policy: r.Policy, PolicyDigest: r.PolicyDigest, Result: r.Digest,
			Actor: strings.TrimSpace(g.Actor), Justification: strings.TrimSpace(g.Justification),
			Created: now.Format(time.RFC3339), Expires: g.Expires.UTC().Format(time.RFC3339),
		}
		if why := worthless(o, now); why != "" {
			return api.Overrides{}, problem.New(api.Invalid, "no override was made: it %s", why).
				WithHint("%s", missing(o))
		}
		doc.Overrides = append(doc.Overrides, o)
	}
	doc.Seal, err = overridesSeal(doc)
	return doc, err
}

// selected are the soft results of these digests, or all of them.
func selected(soft []api.Result, digests []string) ([]api.Result, error) {
	if len(soft) == 0 {
		return nil, problem.New(api.Refused, "the plan needs no override: no soft-mandatory policy said no").WithHint("assize apply")
	}
	if len(digests) == 0 {
		return soft, nil
	}
	byDigest := map[string]api.Result{}
	var all []string
	for _, r := range soft {
		byDigest[r.Digest] = r
		all = append(all, r.Digest)
	}
	var out []api.Result
	for _, d := range digests {
		r, ok := byDigest[d]
		if !ok {
			return nil, problem.New(api.Refused, "the plan has no result %q that needs an override", d).
				WithHint("the results that need one: %s", strings.Join(all, ", "))
		}
		out = append(out, r)
	}
	return out, nil
}

// EncodeOverrides writes a document of overrides for a file.
func EncodeOverrides(doc api.Overrides) ([]byte, error) { return encode("the override", doc) }

// OpenOverrides reads a document of overrides. It is strict: what was read must
// be, in RFC 8785 form, what this build would write of it, so that no field is
// missing, doubled, misspelt, or meant for a later version. Whether an override
// is of use is decided by [Decide].
func OpenOverrides(data []byte) ([]api.Override, error) {
	var doc api.Overrides
	if err := decode(data, &doc); err != nil {
		return nil, noOverride("it cannot be read: %w", err)
	}
	if doc.Format != api.OverrideFormat {
		return nil, noOverride("it has format %d; this version reads %d", doc.Format, api.OverrideFormat)
	}
	if len(doc.Overrides) == 0 {
		return nil, noOverride("it overrides nothing")
	}
	if !exactly(data, doc) {
		return nil, noOverride("a field is missing, stands there twice, or is not spelt as assize override spells it")
	}
	if seal, err := overridesSeal(doc); err != nil || doc.Seal != seal {
		return nil, noOverride("it is not what was sealed; it has been edited or damaged")
	}
	return doc.Overrides, nil
}

// overridesSeal is the digest of a document without its seal.
func overridesSeal(doc api.Overrides) (string, error) {
	return canonical(struct {
		api.Overrides
		Seal string `json:"seal,omitempty"` // hides the document's own
	}{Overrides: doc})
}

func noOverride(format string, args ...any) *problem.Error {
	return problem.New(api.Invalid, "the override is none: "+format, args...).WithHint(overrideIt)
}

// exactly reports whether data says what v says and nothing else.
func exactly(data []byte, v any) bool {
	again, err := json.Marshal(v)
	if err != nil {
		return false
	}
	want, errWant := jcs.Transform(again)
	got, errGot := jcs.Transform(data)
	return errWant == nil && errGot == nil && bytes.Equal(got, want)
}

// override finds the override of a verdict that failed softly, or says why
// there is none (docs/warrant.md, rule 13).
func (f Facts) override(v api.Verdict) (api.Override, []api.Refusal) {
	digest, err := ResultDigest(v)
	if err != nil {
		return api.Override{}, []api.Refusal{refusal("policy", err.Error(), planAgain)}
	}
	r := result(v, digest)
	why := "there is none"
	for _, o := range f.Overrides {
		unfit := unfit(o, f.Sealed, r)
		if unfit == "" {
			unfit = worthless(o, f.At)
		}
		if unfit == "" {
			return o, nil
		}
		if o.Policy == r.Policy {
			why = "the one that is there " + unfit
		}
	}
	return api.Override{}, []api.Refusal{refusal("override", fmt.Sprintf("the policy %s needs an override: %s", called(v), why), f.remedy(r))}
}

// remedy is what helps a result without an override: one, when it is that of
// the warrant; else an override can only be made of a new plan's.
func (f Facts) remedy(r api.Result) string {
	for _, sealed := range Soft(f.Sealed) {
		if sealed == r {
			return overrideIt
		}
	}
	return planAgain
}

// unfit says what of a result an override is not bound to, or "".
func unfit(o api.Override, w api.Warrant, r api.Result) string {
	switch {
	case moved(o.Run, w.Run) || moved(o.Plan, w.Binding.Plan):
		return "is for another plan"
	case moved(o.Policy, r.Policy):
		return "is for another policy"
	case moved(o.PolicyDigest, r.PolicyDigest):
		return "is for another version of the policy"
	case moved(o.Result, r.Digest):
		return "is for something else that the policy has said"
	}
	return ""
}

// worthless says what is wrong with an override by itself at a moment, or "".
func worthless(o api.Override, at time.Time) string {
	created, errCreated := time.Parse(time.RFC3339, o.Created)
	expires, errExpires := time.Parse(time.RFC3339, o.Expires)
	switch {
	case errCreated != nil || errExpires != nil:
		return "has no times"
	case created.After(at):
		return "was made in the future, at " + o.Created
	case !at.Before(expires):
		return "ended at " + o.Expires
	case expires.Sub(created) > OverrideMax:
		return "lasts more than 24 hours"
	case !says(o.Justification, justificationMax):
		return "has no justification of 1 to 2,000 characters"
	case !says(o.Actor, actorMax):
		return "does not say who made it, in 1 to 200 characters"
	}
	return ""
}

// missing is what to say, or to say otherwise, of an override that is worthless
// when it is made.
func missing(o api.Override) string {
	switch {
	case !says(o.Justification, justificationMax):
		return "say why with --justification TEXT"
	case !says(o.Actor, actorMax):
		return "say who with USER in the environment"
	}
	return "say until when with --for 4h or --expires; 24 hours are the most"
}

// Ended reports whether an override does not hold any more.
func Ended(o api.Override, at time.Time) bool {
	expires, err := time.Parse(time.RFC3339, o.Expires)
	return err != nil || !at.Before(expires)
}

// says reports whether text is trimmed, there, and not too long.
func says(text string, most int) bool {
	return text != "" && text == strings.TrimSpace(text) && utf8.ValidString(text) && utf8.RuneCountInString(text) <= most
}
