package v1

// An Organisation is what everything else belongs to.
type Organisation struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ListOrganisations asks for those into which any role of the caller reaches.
type ListOrganisations struct {
	Paging
}

// Route is where the request goes.
func (ListOrganisations) Route() string { return "GET /v1/organisations" }

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
