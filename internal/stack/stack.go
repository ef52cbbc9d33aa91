// Package stack decides what depends on what in a repository: it makes a graph
// of what a scan has found, says which stacks a change affects, and puts them
// into waves. It is pure and knows no file, no syntax and no tool.
package stack

// A Stack is one directory of configuration plus one instance, with its own
// state, and what the scan found out about it (seed 004, "Stack instances").
type Stack struct {
	Key         Key
	Workspace   string // the tool's workspace; "" for none
	Environment string
	Tool        string // tofu or terraform
	ToolVersion string
	State       State    // where its state is kept; the zero value where that cannot be read
	WatchPaths  []string // files outside its directory that it reads: sorted, relative to the root
	TreeHash    string   // "sha256:..." of everything it is made of

	DependsOn []string // as written and rendered: keys, or owner/repo//key
	Ignore    []string // keys whose inferred edges are suppressed
	Calls     []Call
	Reads     []State // through terraform_remote_state or tfe_outputs
	Position  string  // file:line of what makes it a stack
}

// A Module is a local directory of configuration that is called and is no stack.
type Module struct {
	Path  string
	Calls []Call
	Reads []State // a stack that calls the module reads them
}

// A Call is one call of a module.
type Call struct {
	Name   string // of the block
	Source string // as written
	Kind   SourceKind
	Key    string // of the module: the path of a local one; without the version, of any other
	Ref    string // the version or revision that is asked for
}

// A SourceKind is where a module comes from.
type SourceKind string

const (
	LocalModule    SourceKind = "local"
	GitModule      SourceKind = "git"
	RegistryModule SourceKind = "registry"
	ArchiveModule  SourceKind = "archive" // http, s3, gcs and everything else that is fetched
)

// A State identifies the place where a state is kept: two stacks with the same
// one share it. The zero value is unknown and equals nothing.
type State struct {
	Type string // s3, gcs, azurerm, local, http, pg, consul, kubernetes, remote
	ID   string // what tells it from others of the type, such as bucket/key; paths are relative to the root
}

// Scanned is what a scan has found, in any order.
type Scanned struct {
	Stacks   []Stack
	Modules  []Module
	Repo     string   // owner/repo, "" when unknown: a dependency on it is one on this repository
	Warnings []string // of the scan; the graph adds its own
}
