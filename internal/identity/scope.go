package identity

// A Scope is where a role holds, or where somebody wants to do something: an
// organisation, one of its projects, or one stack of that. It holds ids.
type Scope struct {
	Organisation string `json:"organisation,omitempty"`
	Project      string `json:"project,omitempty"`
	Stack        string `json:"stack,omitempty"`
}

// A Level is how deep a scope is.
type Level int

// The levels, from the one that no valid scope has to the deepest.
const (
	Nowhere Level = iota
	Organisation
	Project
	Stack
)

// Level is the level of a valid scope, and [Nowhere] of any other: one that is
// empty, that leaves out what is in the middle, or that has an id of something
// else in a place (docs/identity.md, rule 2).
func (s Scope) Level() Level {
	switch {
	case !IsID(OrganisationID, s.Organisation):
		return Nowhere
	case s.Project == "" && s.Stack == "":
		return Organisation
	case !IsID(ProjectID, s.Project):
		return Nowhere
	case s.Stack == "":
		return Project
	case !IsID(StackID, s.Stack):
		return Nowhere
	}
	return Stack
}

// Contains reports whether inner is s or below it. What is not valid contains
// nothing and is in nothing.
func (s Scope) Contains(inner Scope) bool {
	return s.Level() != Nowhere && inner.Level() != Nowhere && s.Organisation == inner.Organisation &&
		(s.Project == "" || s.Project == inner.Project) &&
		(s.Stack == "" || s.Stack == inner.Stack)
}
