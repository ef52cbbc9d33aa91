package api

import _ "embed" // for the text below

//go:embed schema/rules.schema.json
var rulesSchema string

// RulesSchema is the JSON Schema (draft 2020-12) of a rules file, for editors.
// The loader of rules is stricter: it compiles what a schema can only call a
// string. A test of that package holds the two against each other.
func RulesSchema() string { return rulesSchema }
