package v1

// A Grant is a role that somebody has somewhere, and in all that is below.
type Grant struct {
	Role        string   `json:"role" doc:"reader, planner, applier, maintainer or owner"`
	Holder      Holder   `json:"holder"`
	Place       Place    `json:"place"`
	Permissions []string `json:"permissions" doc:"what the role lets somebody do there and below, as words"`
}

// A Holder is who has a role.
type Holder struct {
	Kind string `json:"kind" doc:"user, team or token"`
	ID   string `json:"id"`
	Name string `json:"name" doc:"of a token, what it is for"`
}

// A Place is where a role holds: a stack, a project with all that is in it, or a whole
// organisation.
type Place struct {
	Organisation Named  `json:"organisation"`
	Project      *Named `json:"project,omitempty" doc:"left out for the whole organisation"`
	Stack        *Named `json:"stack,omitempty" doc:"left out for more than one stack"`
}

// ListGrants asks who may what in an organisation, a project or a stack: roles that were
// given there, above or below, as far as the caller may see those places.
type ListGrants struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Project      string `query:"project" json:"-" doc:"id of a project of it"`
	Stack        string `query:"stack" json:"-" doc:"id of a stack of it"`
	Paging
}

// Route is where the request goes.
func (ListGrants) Route() string { return "GET /v1/organisations/{organisation}/grants" }

// GiveGrant asks that a user or a team has a role at exactly one place, instead of the
// one that they had there.
type GiveGrant struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Role         string `json:"role" doc:"reader, planner, applier, maintainer or owner"`
	Holder       string `json:"holder" doc:"id of a user or a team"`
	Project      string `json:"project,omitempty" doc:"id of a project of the organisation"`
	Stack        string `json:"stack,omitempty" doc:"id of a stack of it"`
}

// Route is where the request goes.
func (GiveGrant) Route() string { return "PUT /v1/organisations/{organisation}/grants" }

// TakeGrant asks that a role which a user or a team has at exactly one place is taken
// away. What they may because of other roles stays.
type TakeGrant struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Role         string `query:"role" json:"-" doc:"the role that they have there"`
	Holder       string `query:"holder" json:"-" doc:"id of a user or a team"`
	Project      string `query:"project" json:"-" doc:"id of a project of the organisation"`
	Stack        string `query:"stack" json:"-" doc:"id of a stack of it"`
}

// Route is where the request goes.
func (TakeGrant) Route() string { return "DELETE /v1/organisations/{organisation}/grants" }

// A Caller is whose token a request has, and what they may.
type Caller struct {
	Kind         string  `json:"kind" doc:"person or token"`
	ID           string  `json:"id"`
	Name         string  `json:"name"`
	Organisation string  `json:"organisation,omitempty" doc:"id of the organisation that a token belongs to"`
	Email        string  `json:"email,omitempty" doc:"which the person has proved to be theirs"`
	SiteAdmin    bool    `json:"site_admin,omitempty" doc:"makes organisations and appoints other administrators"`
	Grants       []Grant `json:"grants" doc:"the roles that they have, themselves or through a team"`
}

// Whoami asks whose the token of the request is.
type Whoami struct{}

// Route is where the request goes.
func (Whoami) Route() string { return "GET /v1/whoami" }

// ListAdministrators asks who administers the server.
type ListAdministrators struct {
	Paging
}

// Route is where the request goes.
func (ListAdministrators) Route() string { return "GET /v1/administrators" }

// AppointAdministrator asks that a user administers the server.
type AppointAdministrator struct {
	User string `path:"user" json:"-" doc:"id of the user"`
}

// Route is where the request goes.
func (AppointAdministrator) Route() string { return "PUT /v1/administrators/{user}" }

// DismissAdministrator asks that a user administers the server no longer.
type DismissAdministrator struct {
	User string `path:"user" json:"-" doc:"id of the user"`
}

// Route is where the request goes.
func (DismissAdministrator) Route() string { return "DELETE /v1/administrators/{user}" }
