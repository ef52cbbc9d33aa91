package v1

import "time"

// A Stack is what has a state of its own.
type Stack struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Project string    `json:"project" doc:"id of the project that it is in"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

// ListStacks asks for those of an organisation that the caller may see, by name.
type ListStacks struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Search       string `query:"search" json:"-" doc:"a part of the name, in any case"`
	Project      string `query:"project" json:"-" doc:"id of a project"`
	Paging
}

// Route is where the request goes.
func (ListStacks) Route() string { return "GET /v1/organisations/{organisation}/stacks" }

// CreateStack asks for a new stack.
type CreateStack struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Name         string `json:"name" doc:"1 to 90 letters, digits, - and _"`
	Project      string `json:"project,omitempty" doc:"id of the project; without it the one that every organisation begins with"`
}

// Route is where the request goes.
func (CreateStack) Route() string { return "POST /v1/organisations/{organisation}/stacks" }

// FindStack asks for a stack by its name.
type FindStack struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Name         string `path:"name" json:"-" doc:"name of the stack"`
}

// Route is where the request goes.
func (FindStack) Route() string { return "GET /v1/organisations/{organisation}/stacks/{name}" }

// ShowStack asks for one stack.
type ShowStack struct {
	Stack string `path:"stack" json:"-" doc:"id of the stack"`
}

// Route is where the request goes.
func (ShowStack) Route() string { return "GET /v1/stacks/{stack}" }

// DeleteStack asks that a stack and all versions of its state are deleted.
type DeleteStack struct {
	Stack string `path:"stack" json:"-" doc:"id of the stack"`
	Force bool   `query:"force" json:"-" doc:"even if its state still has resources, which nothing will know of then"`
}

// Route is where the request goes.
func (DeleteStack) Route() string { return "DELETE /v1/stacks/{stack}" }
