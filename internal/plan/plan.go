// Package plan decides what a plan says: it decodes what `tofu show -json` or
// `terraform show -json` prints, refuses what is no plan, looks values up in
// four states, and knows which of them are secret.
//
// It normalises once, before any policy: numbers are exact and have one
// spelling, duplicate keys and invalid UTF-8 are refused. It must not know of
// policies, files or processes.
package plan

import (
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan/secret"
)

// A Plan is one decoded plan. What identifies a change in it is (Address,
// Deposed): a deposed object repeats the address of the current one.
//
// Values are nil, bool, json.Number in the one spelling of [Number], string,
// []any and map[string]any. They must not be changed: before and after may
// share them.
type Plan struct {
	Raw           []byte // the text as it was read; holds secrets in clear
	Digest        string // "sha256:..." of Raw
	FormatVersion string
	ToolVersion   string
	Created       string // the tool's timestamp; "" before Terraform 1.5
	Variables     map[string]any
	Changes       []Change // in the plan's order
	Deferred      []Change // Terraform 1.9 and later: what this plan leaves for another one
	Drifted       []Change // objects that changed outside of the configuration, which an apply records
	Outputs       []Output
	Checks        []Check
	Modules       []ModuleCall
	Complete      *bool // nil where the tool does not say (OpenTofu, Terraform before 1.8)
	Flags         Flags // the caller fills it in

	untouched []Output          // of the state, which the plan says nothing of
	providers map[string]string // full name to version constraint, "" where there is none
	secrets   secret.Set
	addresses map[string]bool // every one that stands in the plan
}

// Flags are those a plan was made with, as far as the caller knows. OpenTofu's
// JSON does not show them, and a targeted plan is not the whole change.
type Flags struct {
	Destroy     bool
	RefreshOnly bool
	Targets     []string
	Replace     []string

	// Specification says that the configuration comes from a specification in CUE:
	// the document calls what the plan changes as the specification does (seed 003,
	// "The plan document"; docs/spec.md, rule 19).
	Specification bool

	Labels Labels
}

// An Action is what a plan does to one object. Replacement is one action, in
// whichever order the tool does it.
type Action string

// Every action of both tools. OpenTofu writes forget before create, Terraform
// after it; the tuples mean the same.
const (
	NoOp         Action = "no-op"
	Create       Action = "create"
	Read         Action = "read"
	Update       Action = "update"
	Replace      Action = "replace"
	Delete       Action = "delete"
	Forget       Action = "forget"
	CreateForget Action = "create,forget"
	ForgetCreate Action = "forget,create"
)

// A Change is one resource instance in a plan.
type Change struct {
	Address         string // byte for byte as in the plan
	PreviousAddress string // where a moved block took it from
	Deposed         string // key of a deposed object; "" for the current one
	Module          string // address of its module instance; "" for the root
	Mode            string // managed or data; ephemeral in OpenTofu before 1.12
	Type            string
	Name            string
	Index           any // nil, a string or a number
	Provider        string
	Action          Action
	Actions         []string // the tool's tuple
	Reason          string   // action_reason
	ReplacePaths    []string // in the syntax of [ParsePath]
	Importing       any      // nil, or what the plan says of the import; an identity may stand in for the id

	Before          any
	After           any
	AfterUnknown    any // true, or a tree with true where a value is unknown
	BeforeSensitive any
	AfterSensitive  any
}

// Has reports whether word (create, delete, ...) is in the tool's tuple, so
// that a replacement has both.
func (c *Change) Has(word string) bool { return slices.Contains(c.Actions, word) }

// Label names the action for people: it tells the two orders of a replacement
// apart (seed 002, step 1).
func (c *Change) Label() string {
	if c.CreateBeforeDestroy() {
		return "replace (create before destroy)"
	}
	return string(c.Action)
}

// CreateBeforeDestroy reports whether a replacement creates first.
func (c *Change) CreateBeforeDestroy() bool {
	return c.Action == Replace && slices.Index(c.Actions, "create") == 0
}

// An Output is a root module output that the plan changes or keeps.
type Output struct {
	Name            string
	Action          Action
	Type            any // of the value, as the tools write types: "number", ["set", "string"]; nil is unknown
	Before          any
	After           any
	AfterUnknown    any
	BeforeSensitive any
	AfterSensitive  any
}

// A Check is a check block, or the conditions of one object, and its status:
// pass, fail, error or unknown.
type Check struct {
	Address  string
	Status   string
	Problems []string
}

// A ModuleCall is one module block. Its address has no instance keys, because
// configuration does not: module.net.module.subnets.
type ModuleCall struct {
	Address string
	Source  string
	Version string // version_constraint; "" when there is none
}

// Document is the plan as CUE policies see it, with the caller's labels.
func (p *Plan) Document(labels Labels) api.Document { return p.document(labels, unmasked) }

// Labels are the caller's words about a plan; no rule over them binds anything.
type Labels struct {
	Actor       string
	Reason      string
	GitRevision string
	TraceID     string
}
