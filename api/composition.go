package api

// A Standing is what a result means for an apply: an outcome, weighed by the
// enforcement of its policy (seed 000, "Enforcement"). There is no zero value
// among them; what is none of them blocks.
type Standing string

const (
	StandsPassed     Standing = "passed"      // blocks nothing; a failed advisory policy as well
	StandsSoftFailed Standing = "soft_failed" // blocks until it is overridden
	StandsHardFailed Standing = "hard_failed" // blocks
	StandsErrored    Standing = "errored"     // it could not be judged; blocks, and nothing overrides it
)

// A Result is one verdict by its digests: enough to tell whether two judgements
// are the same, and to bind an override to exactly one.
type Result struct {
	Policy       string      `json:"policy"` // its path
	Engine       Language    `json:"engine"`
	PolicyDigest string      `json:"policy_digest"`
	Enforcement  Enforcement `json:"enforcement"`
	Outcome      Outcome     `json:"outcome"`
	Digest       string      `json:"digest"` // of the verdict with all its findings, excepted ones too (RFC 8785)
}

// A Composition is what every result on one plan comes to together (seed 000,
// "Result contract").
type Composition struct {
	Results []Result `json:"results"` // in the order of the policies
	Outcome Standing `json:"outcome"` // that of the strongest result
	Digest  string   `json:"digest"`  // of the two above (RFC 8785)
}
