// Package settings decides what holds for a stack: it merges assize.yaml, the
// .assize.yaml of a directory and the entry of an instance, renders templates,
// and validates (seed 004, "Configuration"; DESIGN 5.4). It is pure: who calls
// it has read the files.
package settings

// A Mode is what the tool is run for.
type Mode string

const (
	Plan  Mode = "plan"
	Apply Mode = "apply"
	Drift Mode = "drift"
)

// Effective is everything that holds for one stack, merged and rendered.
type Effective struct {
	Path, Instance string
	Workspace      string
	Environment    string
	Tool           string
	ToolVersion    string
	BackendConfig  []string // name=value, or a file relative to the root
	VarFiles       []string // relative to the stack's directory
	Env            map[string]PerMode
	DependsOn      []string
	IgnoreInferred []string
	PlanOutput     string // full or summary
	AllowedTeams   []string
}

// PerMode is a value for each mode; nil leaves the variable as it is.
type PerMode struct {
	Plan, Apply, Drift *string
}
