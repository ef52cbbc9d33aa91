package api

import _ "embed" // for the texts below

//go:embed schema/document.schema.json
var documentSchema string

//go:embed schema/document.cue
var documentCUE string

// DocumentSchema is the JSON Schema (draft 2020-12) of [Document]. A test
// holds every document of the test data against it.
func DocumentSchema() string { return documentSchema }

// DocumentCUE is the CUE definition #Plan of [Document], closed like the schema.
func DocumentCUE() string { return documentCUE }

//go:embed schema/decision.schema.json
var decisionSchema string

// DecisionSchema is the JSON Schema (draft 2020-12) of what a policy of the
// decision contract may say, for tests of policies. The judge is stricter: ids
// are unique and sizes are bounded. A test of package decision holds the two
// against each other.
func DecisionSchema() string { return decisionSchema }

//go:embed schema/rules.schema.json
var rulesSchema string

// RulesSchema is the JSON Schema (draft 2020-12) of a rules file, for editors.
// The loader of rules is stricter: it compiles what a schema can only call a
// string. A test of that package holds the two against each other.
func RulesSchema() string { return rulesSchema }
