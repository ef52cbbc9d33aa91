package v1

import "time"

// A Member is somebody's place in an organisation, which gives nothing by itself.
type Member struct {
	ID      string    `json:"id"`
	User    string    `json:"user,omitempty" doc:"id of the user; left out while nobody has taken the invitation over"`
	Name    string    `json:"name,omitempty" doc:"of the user"`
	Email   string    `json:"email,omitempty" doc:"of the user, or to which the invitation went"`
	Invited bool      `json:"invited,omitempty" doc:"nobody has taken the invitation over yet"`
	Teams   []Named   `json:"teams"`
	Created time.Time `json:"created"`
	Token   string    `json:"token,omitempty" doc:"the first token of a user that was made, in the answer to that and never again"`
}

// A Named is an id, and what it is called.
type Named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ListMembers asks for the members of an organisation, those who are invited among them.
type ListMembers struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Paging
}

// Route is where the request goes.
func (ListMembers) Route() string { return "GET /v1/organisations/{organisation}/members" }

// InviteMember asks that whoever proves that an address is theirs becomes a member.
type InviteMember struct {
	Organisation string   `path:"organisation" json:"-" doc:"name of the organisation"`
	Email        string   `json:"email" doc:"of ASCII; an identity provider says whose it is"`
	Teams        []string `json:"teams,omitempty" doc:"ids of teams to be in from the beginning"`
}

// Route is where the request goes.
func (InviteMember) Route() string { return "POST /v1/organisations/{organisation}/members" }

// CreateMember asks for a new user of the server who is a member of an organisation.
// The answer shows a token of theirs, and nothing ever does again.
type CreateMember struct {
	Organisation string    `path:"organisation" json:"-" doc:"name of the organisation"`
	Name         string    `json:"name" doc:"of the user, without @"`
	Teams        []string  `json:"teams,omitempty" doc:"ids of teams to be in from the beginning"`
	Expires      time.Time `json:"expires,omitzero" doc:"when the token ends; without it, it does not"`
}

// Route is where the request goes.
func (CreateMember) Route() string { return "POST /v1/organisations/{organisation}/users" }

// RemoveMember asks that a membership or an invitation ends, and with it all that the
// user may in the organisation.
type RemoveMember struct {
	Member string `path:"member" json:"-" doc:"id of the membership"`
}

// Route is where the request goes.
func (RemoveMember) Route() string { return "DELETE /v1/members/{member}" }

// A Team is people of one organisation, and what they may in all of it.
type Team struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Role    string       `json:"role,omitempty" doc:"in the whole organisation; grants say what it may elsewhere"`
	Members []TeamMember `json:"members"`
}

// A TeamMember is somebody in a team.
type TeamMember struct {
	ID      string `json:"id" doc:"of the membership"`
	User    string `json:"user,omitempty" doc:"id of the user; left out for one who is invited"`
	Name    string `json:"name,omitempty"`
	Email   string `json:"email,omitempty"`
	Invited bool   `json:"invited,omitempty"`
}

// ListTeams asks for the teams of an organisation.
type ListTeams struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Paging
}

// Route is where the request goes.
func (ListTeams) Route() string { return "GET /v1/organisations/{organisation}/teams" }

// CreateTeam asks for a new team, with nobody in it and no roles.
type CreateTeam struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Name         string `json:"name" doc:"1 to 90 letters, digits, -, _ and single spaces between words"`
}

// Route is where the request goes.
func (CreateTeam) Route() string { return "POST /v1/organisations/{organisation}/teams" }

// ShowTeam asks for one team.
type ShowTeam struct {
	Team string `path:"team" json:"-" doc:"id of the team"`
}

// Route is where the request goes.
func (ShowTeam) Route() string { return "GET /v1/teams/{team}" }

// DeleteTeam asks that a team is deleted with its roles and tokens.
type DeleteTeam struct {
	Team string `path:"team" json:"-" doc:"id of the team"`
}

// Route is where the request goes.
func (DeleteTeam) Route() string { return "DELETE /v1/teams/{team}" }

// AddToTeam asks that somebody is in a team. A user who was no member of its
// organisation is one then.
type AddToTeam struct {
	Team   string `path:"team" json:"-" doc:"id of the team"`
	Member string `path:"member" json:"-" doc:"id of a membership, or of a user"`
}

// Route is where the request goes.
func (AddToTeam) Route() string { return "PUT /v1/teams/{team}/members/{member}" }

// RemoveFromTeam asks that somebody is in a team no longer; a member of the
// organisation they stay.
type RemoveFromTeam struct {
	Team   string `path:"team" json:"-" doc:"id of the team"`
	Member string `path:"member" json:"-" doc:"id of a membership, or of a user"`
}

// Route is where the request goes.
func (RemoveFromTeam) Route() string { return "DELETE /v1/teams/{team}/members/{member}" }
