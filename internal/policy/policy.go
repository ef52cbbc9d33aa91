// Package policy decides what judging a plan comes to: it runs policies
// through their engines, turns everything that goes wrong into an errored
// verdict, removes secrets from what they say, and composes the outcome. It
// must not know which engines exist, nor where policies come from.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
)

// A File is one file of a policy, by its name relative to the policy.
type File struct {
	Name string
	Data []byte
}

// A Source is one policy as it was read: everything its verdict depends on
// but the plan. It is plain data, so that it can be handed to another process.
type Source struct {
	Path        string // as the user named it
	Language    api.Language
	Files       []File // at least one, sorted by name
	Enforcement api.Enforcement
	Rego        RegoOptions
	Bundle      *Bundle // nil for a policy of plain files
	Run         Run
}

// RegoOptions are the choices conftest offers for a test.
type RegoOptions struct {
	Namespaces    []string // packages to judge; empty means main
	AllNamespaces bool
	Data          []File // documents below data
	InputShape    string // "" or root: the plan is the input; else the name it stands under: plan, tfplan, terraform
	Contract      string // the decision contract to judge by, such as assize; "" for what the policy declares
}

// IsZero reports whether nothing was said about how Rego is judged.
func (o RegoOptions) IsZero() bool {
	return len(o.Data) == 0 && len(o.Namespaces) == 0 && !o.AllNamespaces && o.InputShape == "" && o.Contract == ""
}

// Digest identifies the policy: the digest of the file's bytes for one file
// without options (as `sha256sum` prints it), else of the list of everything. A
// bundle has the digest of the files it was built from (docs/bundle.md, rule 3).
func (s Source) Digest() string {
	h := sha256.New()
	if len(s.Files) == 1 && s.Rego.IsZero() {
		h.Write(s.Files[0].Data)
		return "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	// Lengths precede contents, so that no two lists write the same bytes.
	fmt.Fprintf(h, "assize.policy/v1\n%q %t %q\n", s.Rego.Namespaces, s.Rego.AllNamespaces, s.Rego.InputShape)
	if s.Rego.Contract != "" {
		fmt.Fprintf(h, "contract %q\n", s.Rego.Contract)
	}
	for _, group := range [][]File{s.Files, s.Rego.Data} {
		fmt.Fprintf(h, "%d\n", len(group))
		for _, f := range group {
			fmt.Fprintf(h, "%q %d\n", f.Name, len(f.Data))
			h.Write(f.Data)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// An Engine judges plans by policies of one language.
type Engine interface {
	// Language is the one it reads.
	Language() api.Language
	// Evaluator is its name and version; a verdict depends on it.
	Evaluator() string
	// Check compiles a policy: nil when it could judge a plan.
	Check(Source) error
	// Judge fills in the findings, counts and notes of a verdict; an error
	// means the plan could not be judged. The outcome, and what identifies
	// policy and plan, are filled in by [Judge], which removes secrets too.
	Judge(Source, *plan.Plan) (api.Verdict, error)
}
