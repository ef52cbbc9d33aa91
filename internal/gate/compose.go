package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/gowebpki/jcs"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// Compose joins the verdicts on one plan into its composition (docs/policy.md,
// rule 37). The order is theirs, and part of the digest.
func Compose(verdicts []api.Verdict) (api.Composition, error) {
	c := api.Composition{Results: []api.Result{}, Outcome: policy.Strongest(verdicts)}
	for _, v := range verdicts {
		digest, err := ResultDigest(v)
		if err != nil {
			return api.Composition{}, err
		}
		c.Results = append(c.Results, result(v, digest))
	}
	var err error
	c.Digest, err = composed(c)
	return c, err
}

func result(v api.Verdict, digest string) api.Result {
	return api.Result{Policy: v.Path, Engine: v.Engine, PolicyDigest: v.Digest, Enforcement: v.Enforcement, Outcome: v.Outcome, Digest: digest}
}

// composed is the digest of a composition, without the one it names.
func composed(c api.Composition) (string, error) {
	c.Digest = ""
	return canonical(c)
}

// composes reports whether a composition is one of these verdicts. Their
// findings need not be there: a warrant does not keep them, only the digests of
// the results.
func composes(c api.Composition, verdicts []api.Verdict) bool {
	if len(c.Results) != len(verdicts) || c.Outcome != policy.Strongest(verdicts) {
		return false
	}
	for i, v := range verdicts {
		if c.Results[i].Digest == "" || c.Results[i] != result(v, c.Results[i].Digest) {
			return false
		}
	}
	digest, err := composed(c)
	return err == nil && digest == c.Digest
}

// ResultDigest identifies what a policy said of a plan: everything in the
// verdict, and every finding, those that an exception covers with the
// exception. What the plan was called is left out, for it is the same plan by
// another name.
func ResultDigest(v api.Verdict) (string, error) {
	v.Plan = ""
	r := struct {
		api.Verdict
		Findings []finding `json:"findings"`
	}{Verdict: v, Findings: []finding{}}
	for _, f := range v.Findings {
		f.Plan = ""
		details, err := json.Marshal(f.Details)
		if err != nil {
			return "", problem.New(api.Internal, "the findings of %s have no digest: %w", v.Path, err)
		}
		r.Findings = append(r.Findings, finding{f, string(details)})
	}
	return canonical(r)
}

// A finding has its details as text. RFC 8785 reads every number as a float64,
// in which 9007199254740993 and 9007199254740992 are one; as text, with its
// keys sorted, nothing is lost.
type finding struct {
	api.Finding
	Details string `json:"details"`
}

// canonical is the SHA-256 of a value's RFC 8785 form, in which neither white
// space nor the order of keys matters.
func canonical(v any) (string, error) {
	body, err := json.Marshal(v)
	if err == nil {
		body, err = jcs.Transform(body)
	}
	if err != nil {
		return "", problem.New(api.Internal, "a digest cannot be made: %w", err)
	}
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
