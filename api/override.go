package api

// OverrideFormat is the version of [Overrides] that this build writes.
const OverrideFormat = 2

// Overrides is the document that `assize override` writes and `assize apply`
// reads. It is never edited: what has changed needs a new one, and Seal, like
// that of a [Warrant], detects damage and careless edits.
type Overrides struct {
	Format    int        `json:"format"`
	Overrides []Override `json:"overrides"` // at least one
	Seal      string     `json:"seal"`      // digest of the RFC 8785 form of the rest
}

// An Override lets one soft-mandatory failure pass, once (seed 000, "Soft
// overrides"). It is bound to exactly one run, plan, version of a policy and
// result; where one of them is another, it is worth nothing.
type Override struct {
	Run           string `json:"run"`           // of the warrant
	Plan          string `json:"plan"`          // digest of the plan file
	Policy        string `json:"policy"`        // its path
	PolicyDigest  string `json:"policy_digest"` // its version
	Result        string `json:"result"`        // digest of what it said
	Actor         string `json:"actor"`         // who overrides: a label, which nobody has verified
	Justification string `json:"justification"` // 1 to 2,000 characters, trimmed
	Created       string `json:"created"`       // RFC 3339, UTC
	Expires       string `json:"expires"`       // RFC 3339, UTC; at most 24 hours after Created
}
