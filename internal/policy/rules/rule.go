package rules

import (
	"regexp"
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
)

// A Rule is one statement of a rules file: what it selects, what must hold
// there, and what to say when it does not (seed 002, "The Concept"). Rules come
// from [Load], which fills in the defaults and compiles what Value holds, so
// that judging parses nothing; exactly one of Op and Check is set.
type Rule struct {
	ID      string
	Level   api.Level
	Message string

	// Select. None means all, for types and addresses.
	Types     []plan.Glob
	Addresses []plan.Glob
	Modes     []string
	Actions   []plan.Action // attribute rules only

	// Check.
	Path         plan.Path
	Op           Op
	Check        Check
	Value        any // as the plan's values are; nil where Op or Check takes none
	AllowUnknown bool

	Position string // file:line:column of the rule

	patterns []*regexp.Regexp // of Value, for the operators and checks that take expressions
	limit    int              // of Value, for max_deletes
}

// An Op compares what stands at a path with a rule's value.
type Op string

// Every operator of an attribute rule.
const (
	Exists     Op = "exists"      // null is not there
	Absent     Op = "absent"      // null is absent
	Eq         Op = "eq"          // says nothing of what is missing, like all that follow
	Ne         Op = "ne"          // the opposite of eq, wherever something is
	In         Op = "in"          // equal to one of a list
	NotIn      Op = "not_in"      // equal to none of a list
	Matches    Op = "matches"     // anywhere in a string, unless anchored
	NotMatches Op = "not_matches" // nowhere in a string; what is no string violates
	Lt         Op = "lt"          // numbers only, and exactly, like the next three
	Lte        Op = "lte"
	Gt         Op = "gt"
	Gte        Op = "gte"
)

// Ops lists every operator, in the order of the documentation.
func Ops() []Op {
	return []Op{Exists, Absent, Eq, Ne, In, NotIn, Matches, NotMatches, Lt, Lte, Gt, Gte}
}

// A Check looks at what the plan does rather than at an attribute.
type Check string

// Every check. The first four look at one change, the others at the plan.
const (
	NoDelete     Check = "no_delete"     // replacing and deposed objects included
	NoReplace    Check = "no_replace"    // in either order
	NoForget     Check = "no_forget"     // the object stays, unmanaged
	NoImport     Check = "no_import"     // whatever identifies the object
	MaxDeletes   Check = "max_deletes"   // once for the whole plan
	ModuleSource Check = "module_source" // an allow-list
	ChecksPass   Check = "checks_pass"   // the configuration's own checks
	CompletePlan Check = "complete_plan" // no target, nothing deferred
)

// Checks lists every check, in the order of the documentation.
func Checks() []Check {
	return []Check{NoDelete, NoReplace, NoForget, NoImport, MaxDeletes, ModuleSource, ChecksPass, CompletePlan}
}

// Modes of resources. Ephemeral ones stand in the plans of OpenTofu before 1.12.
const (
	managed   = "managed"
	data      = "data"
	ephemeral = "ephemeral"
)

func modes() []string { return []string{managed, data, ephemeral} }

func actions() []plan.Action {
	return []plan.Action{plan.NoOp, plan.Create, plan.Read, plan.Update, plan.Replace, plan.Delete, plan.Forget,
		plan.CreateForget, plan.ForgetCreate}
}

// widened completes the actions that a rule names. None are those after which
// something stands at the address that the plan has put there (seed 002, "The
// Concept"); reads are among them for the modes that know little else, or a
// rule over those could never fire. Whoever says create means every creation,
// also one that forgets what stood there before.
func widened(named []plan.Action, modes []string) []plan.Action {
	out := slices.Clone(named)
	if len(named) == 0 {
		out = []plan.Action{plan.Create, plan.Update, plan.Replace}
		if slices.Contains(modes, data) || slices.Contains(modes, ephemeral) {
			out = append(out, plan.Read)
		}
	}
	if slices.Contains(out, plan.Create) {
		out = append(out, plan.CreateForget, plan.ForgetCreate)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// selects reports whether a rule looks at a change (docs/policy.md, rule 16).
// Checks look at every action: that nothing is destroyed is true of a no-op
// too, and the count then says that the rule has something to protect.
func (r *Rule) selects(c *plan.Change) bool {
	if r.Op != "" && !slices.Contains(r.Actions, c.Action) {
		return false
	}
	return slices.Contains(r.Modes, c.Mode) && matchesAny(r.Types, c.Type) && r.selectsAddress(c)
}

// selectsAddress looks at the previous address too: a moved block must not
// smuggle a protected resource out of a rule's sight (docs/policy.md, rule 10).
func (r *Rule) selectsAddress(c *plan.Change) bool {
	return matchesAny(r.Addresses, c.Address) ||
		c.PreviousAddress != "" && matchesAny(r.Addresses, c.PreviousAddress)
}

// matchesAny reports whether one of the globs matches; none at all select
// everything.
func matchesAny(globs []plan.Glob, s string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g plan.Glob) bool { return g.Match(s) })
}

// what names the operator or the check of a rule in complaints.
func (r *Rule) what() string {
	if r.Op != "" {
		return "op " + string(r.Op)
	}
	return "check " + string(r.Check)
}

// usable lists the fields that mean something for a rule, sorted. Any other
// field is refused: what the author wrote there would silently not count.
func usable(r *Rule) []string {
	unused := []string{"check"}
	switch r.Check {
	case NoDelete, NoReplace, NoForget, NoImport, MaxDeletes:
		unused = []string{"actions", "op", "path", "unknown"}
	case ModuleSource:
		unused = []string{"actions", "mode", "op", "path", "type", "unknown"}
	case ChecksPass:
		unused = []string{"actions", "mode", "op", "path", "type"}
	case CompletePlan:
		unused = []string{"actions", "address", "mode", "op", "path", "type", "unknown"}
	}
	if _, read := operand(r); read == nil {
		unused = append(unused, "value")
	}
	return slices.DeleteFunc(fields(), func(f string) bool { return slices.Contains(unused, f) })
}

// fields lists every field of a rule, sorted.
func fields() []string {
	return []string{"actions", "address", "check", "id", "level", "message", "mode", "op", "path", "type", "unknown", "value"}
}
