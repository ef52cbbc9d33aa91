package api

import _ "embed" // for the text below

//go:embed schema/decision.schema.json
var decisionSchema string

// DecisionSchema is the JSON Schema (draft 2020-12) of what a policy of the
// decision contract may say, for tests of policies. The judge is stricter: ids
// are unique and sizes are bounded. A test of package decision holds the two
// against each other.
func DecisionSchema() string { return decisionSchema }
