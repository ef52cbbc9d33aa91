package v1

import "time"

// An Organisation is what everything else belongs to.
type Organisation struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Project string    `json:"project" doc:"id of the project for stacks that name none"`
	Created time.Time `json:"created"`
}

// ListOrganisations asks for those into which any role of the caller reaches.
type ListOrganisations struct {
	Paging
}

// Route is where the request goes.
func (ListOrganisations) Route() string { return "GET /v1/organisations" }

// CreateOrganisation asks for a new organisation, which the caller owns then.
type CreateOrganisation struct {
	Name string `json:"name" doc:"1 to 40 letters, digits, - and _"`
}

// Route is where the request goes.
func (CreateOrganisation) Route() string { return "POST /v1/organisations" }

// ShowOrganisation asks for one organisation.
type ShowOrganisation struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
}

// Route is where the request goes.
func (ShowOrganisation) Route() string { return "GET /v1/organisations/{organisation}" }

// DeleteOrganisation asks that an organisation is deleted with all that is in it. It
// is refused while a stack has a state.
type DeleteOrganisation struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
}

// Route is where the request goes.
func (DeleteOrganisation) Route() string { return "DELETE /v1/organisations/{organisation}" }

// A Project holds stacks of one organisation.
type Project struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ListProjects asks for those of an organisation that the caller may see.
type ListProjects struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Paging
}

// Route is where the request goes.
func (ListProjects) Route() string { return "GET /v1/organisations/{organisation}/projects" }

// CreateProject asks for a new project.
type CreateProject struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Name         string `json:"name" doc:"1 to 40 letters, digits, -, _ and single spaces between words"`
}

// Route is where the request goes.
func (CreateProject) Route() string { return "POST /v1/organisations/{organisation}/projects" }

// DeleteProject asks that a project is deleted. It is refused while a stack is in it.
type DeleteProject struct {
	Project string `path:"project" json:"-" doc:"id of the project"`
}

// Route is where the request goes.
func (DeleteProject) Route() string { return "DELETE /v1/projects/{project}" }
