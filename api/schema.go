package api

import _ "embed" // for the two texts below

//go:embed schema/document.schema.json
var documentSchema string

//go:embed schema/document.cue
var documentCUE string

// DocumentSchema is the JSON Schema (draft 2020-12) of [Document]. A test
// holds every document of the test data against it.
func DocumentSchema() string { return documentSchema }

// DocumentCUE is the CUE definition #Plan of [Document], closed like the schema.
func DocumentCUE() string { return documentCUE }
