package tfc

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

func teams() []route {
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/teams", do: listTeams},
		{pattern: "POST /api/v2/organizations/{organisation}/teams", do: createTeam},
		{pattern: "GET /api/v2/teams/{team}", do: readTeam},
		{pattern: "PATCH /api/v2/teams/{team}", do: updateTeam},
		{pattern: "DELETE /api/v2/teams/{team}", do: deleteTeam},
	}
}

// A teamDoc is a team.
type teamDoc struct {
	ID          string           `jsonapi:"primary,teams"`
	Name        string           `jsonapi:"attr,name"`
	Unified     bool             `jsonapi:"attr,is-unified"`
	Count       int              `jsonapi:"attr,users-count"`
	Access      teamFlags        `jsonapi:"attr,organization-access"`
	Permissions teamPermissions  `jsonapi:"attr,permissions"`
	Settings    teamSettings     `jsonapi:"attr,*"`
	Users       []*userDoc       `jsonapi:"relation,users"`
	Memberships []*membershipDoc `jsonapi:"relation,organization-memberships"`
}

// teamSettings are what clients set about a team. Nothing acts on them
// (docs/identity.md, rule 15).
type teamSettings struct {
	Visibility   string  `json:"visibility"`
	SSOTeam      *string `json:"sso-team-id"`
	MemberTokens bool    `json:"allow-member-token-management"`
}

// teamSettingsOf are those that a team has; what nobody has set is as it is for a
// new one.
func teamSettingsOf(t postgres.Team) (teamSettings, error) {
	s := teamSettings{Visibility: "secret", MemberTokens: true}
	return s, json.Unmarshal(t.Settings, &s)
}

// teamFlags are what the protocol says piece by piece of what a team may in all of
// its organisation.
type teamFlags struct {
	ManagePolicies          bool `json:"manage-policies"`
	ManagePolicyOverrides   bool `json:"manage-policy-overrides"`
	DelegatePolicyOverrides bool `json:"delegate-policy-overrides"`
	ManageWorkspaces        bool `json:"manage-workspaces"`
	ManageVCSSettings       bool `json:"manage-vcs-settings"`
	ManageProviders         bool `json:"manage-providers"`
	ManageModules           bool `json:"manage-modules"`
	ManageRunTasks          bool `json:"manage-run-tasks"`
	ManageProjects          bool `json:"manage-projects"`
	ReadWorkspaces          bool `json:"read-workspaces"`
	ReadProjects            bool `json:"read-projects"`
	ManageMembership        bool `json:"manage-membership"`
	ManageTeams             bool `json:"manage-teams"`
	ManageAccess            bool `json:"manage-organization-access"`
	AccessSecretTeams       bool `json:"access-secret-teams"`
	ManageAgentPools        bool `json:"manage-agent-pools"`
}

// allow are the permissions that the flags let somebody use. None lets anybody
// administer the organisation: that takes a role (docs/identity.md, rule 14).
func (f teamFlags) allow() []identity.Permission {
	var allowed []identity.Permission
	if f.ReadWorkspaces || f.ManageWorkspaces {
		allowed = append(allowed, identity.OrganisationRead, identity.StackRead, identity.StateOutputs, identity.PolicyRead)
	}
	if f.ReadProjects || f.ManageProjects {
		allowed = append(allowed, identity.ProjectRead)
	}
	if f.ManageWorkspaces {
		allowed = append(allowed, identity.StackAdmin, identity.StateRead, identity.StateLock, identity.StateWrite, identity.StateRecover,
			identity.StateForceUnlock, identity.ConfigurationRead, identity.ConfigurationWrite, identity.VariableRead, identity.VariableWrite)
	}
	if f.ManageProjects {
		allowed = append(allowed, identity.ProjectAdmin)
	}
	if f.ManagePolicyOverrides {
		allowed = append(allowed, identity.PolicyOverrideSoft)
	}
	if f.ManagePolicies {
		allowed = append(allowed, identity.PolicyAdmin)
	}
	return allowed
}

// teamFlagsOf are the flags of a team, which follow from a role that was given in
// another way.
func teamFlagsOf(a postgres.Access) (teamFlags, error) {
	var f teamFlags
	if len(a.Flags) > 0 {
		return f, json.Unmarshal(a.Flags, &f)
	}
	switch a.Role {
	case identity.Owner:
		return teamFlags{true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true}, nil
	case identity.Maintainer:
		f.ManageWorkspaces, f.ManageProjects, f.ManagePolicyOverrides = true, true, true
		fallthrough
	case identity.Reader, identity.Planner, identity.Applier:
		f.ReadWorkspaces, f.ReadProjects = true, true
	}
	return f, nil
}

// teamPermissions are what somebody may do with a team.
type teamPermissions struct {
	Destroy            bool `json:"can-destroy"`
	UpdateMembership   bool `json:"can-update-membership"`
	UpdateToken        bool `json:"can-update-api-token"`
	UpdateVisibility   bool `json:"can-update-visibility"`
	UpdateName         bool `json:"can-update-name"`
	UpdateSSO          bool `json:"can-update-sso-team-id"`
	UpdateOrganisation bool `json:"can-update-organization-access"`
	UpdateMemberTokens bool `json:"can-update-member-token-management"`
}

func newTeamPermissions(grants []identity.Grant, t postgres.Team) teamPermissions {
	may := func(p identity.Permission) bool {
		return identity.Allowed(grants, p, identity.Scope{Organisation: t.Organisation})
	}
	admin := may(identity.TeamAdmin)
	return teamPermissions{Destroy: admin, UpdateMembership: admin, UpdateToken: may(identity.TokenAdmin), UpdateVisibility: admin,
		UpdateName: admin, UpdateSSO: admin, UpdateOrganisation: may(identity.OrganisationAdmin), UpdateMemberTokens: admin}
}

// newTeamDoc is a team as somebody with these roles sees it.
func newTeamDoc(t postgres.Team, organisation string, grants []identity.Grant) (*teamDoc, error) {
	settings, err := teamSettingsOf(t)
	if err != nil {
		return nil, err
	}
	flags, err := teamFlagsOf(t.Access)
	if err != nil {
		return nil, err
	}
	d := &teamDoc{ID: t.ID, Name: t.Name, Access: flags, Permissions: newTeamPermissions(grants, t), Settings: settings}
	for _, m := range t.Members {
		d.Memberships = append(d.Memberships, newMembershipDoc(m, organisation))
		if !m.Invited() {
			d.Users = append(d.Users, newMemberDoc(m))
			d.Count++
		}
	}
	return d, nil
}

// teamDoc is a team as the client sees it.
func (r *request) teamDoc(v *postgres.View, t postgres.Team) (*teamDoc, error) {
	grants, err := v.OwnGrants(r.Context(), r.who)
	if err != nil {
		return nil, err
	}
	o, err := v.HomeOf(r.Context(), r.who, t.Organisation)
	if err != nil {
		return nil, err
	}
	return newTeamDoc(t, o.Name, grants)
}

// team is the one that the path names.
func (r *request) team(v *postgres.View) (postgres.Team, error) {
	return v.Team(r.Context(), r.who, r.PathValue("team"))
}

func listTeams(r *request) (answer, error) {
	if err := r.checkInclude("users", "organization_memberships"); err != nil {
		return answer{}, err
	}
	p := r.paging()
	var docs []*teamDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.organisation(v)
		if err != nil {
			return err
		}
		grants, err := v.OwnGrants(r.Context(), r.who)
		if err != nil {
			return err
		}
		all, err := v.Teams(r.Context(), r.who, o.ID)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(t postgres.Team) bool { return !r.wantsTeam(t) })
		docs, err = each(part(all, &p), func(t postgres.Team) (*teamDoc, error) { return newTeamDoc(t, o.Name, grants) })
		return err
	})
	return listed(docs, p), err
}

// wantsTeam reports whether a team is one of those that the client asks for.
func (r *request) wantsTeam(t postgres.Team) bool {
	q := r.URL.Query()
	names := q.Get("filter[names]")
	return contains(t.Name, q.Get("q")) && (names == "" || slices.Contains(strings.Split(names, ","), t.Name))
}

// A teamChange is what a client wants of a team.
type teamChange struct {
	ID       string  `jsonapi:"primary,teams"`
	Name     *string `jsonapi:"attr,name"`
	settings change
}

func (r *request) teamChange() (teamChange, error) {
	var c teamChange
	var err error
	c.settings, err = r.decodeChange(&c)
	return c, err
}

// applyTeam changes a team, and what it may in its organisation if that is to change.
func (r *request) applyTeam(u *postgres.Update, t postgres.Team, c teamChange) (*teamDoc, error) {
	settings, err := teamSettingsOf(t)
	if err != nil {
		return nil, err
	}
	was, err := teamFlagsOf(t.Access)
	if err != nil {
		return nil, err
	}
	wanted := struct {
		Access teamFlags `json:"organization-access"`
	}{was}
	if err := errorsOf(c.settings.onto(&settings), c.settings.onto(&wanted), checkTeam(settings)); err != nil {
		return nil, err
	}
	if c.Name != nil {
		t.Name = *c.Name
	}
	if t.Settings, err = json.Marshal(settings); err != nil {
		return nil, err
	}
	if err := u.ChangeTeam(r.Context(), r.who, t.ID, t.Name, t.Settings); err != nil {
		return nil, err
	}
	if wanted.Access != was {
		at := identity.Scope{Organisation: t.Organisation}
		a, err := grantAt(nil, customLevel, wanted.Access, wanted.Access.allow(), t.ID, at)
		if err != nil {
			return nil, err
		}
		if _, err := u.PutAccess(r.Context(), r.who, a); err != nil {
			return nil, err
		}
	}
	if t, err = u.Team(r.Context(), r.who, t.ID); err != nil {
		return nil, err
	}
	return r.teamDoc(&u.View, t)
}

func checkTeam(s teamSettings) error {
	if s.SSOTeam != nil && len(*s.SSOTeam) > 255 {
		return problem.New(api.Invalid, "the team's id for single sign-on is too long").WithHint("at most 255 bytes")
	}
	return oneOf("visibility", s.Visibility, []string{"secret", "organization"})
}

func createTeam(r *request) (answer, error) {
	c, err := r.teamChange()
	if err := errorsOf(err, must(c.Name, "name")); err != nil {
		return answer{}, err
	}
	var doc *teamDoc
	err = r.update(func(u *postgres.Update) error {
		o, err := r.organisation(&u.View)
		if err != nil {
			return err
		}
		t, err := u.CreateTeam(r.Context(), r.who, o.ID, *c.Name)
		if err != nil {
			return err
		}
		doc, err = r.applyTeam(u, t, c)
		return err
	})
	return created(doc), err
}

func readTeam(r *request) (answer, error) {
	if err := r.checkInclude("users", "organization_memberships"); err != nil {
		return answer{}, err
	}
	var doc *teamDoc
	err := r.view(func(v *postgres.View) error {
		t, err := r.team(v)
		if err != nil {
			return err
		}
		doc, err = r.teamDoc(v, t)
		return err
	})
	return ok(doc), err
}

func updateTeam(r *request) (answer, error) {
	c, err := r.teamChange()
	if err != nil {
		return answer{}, err
	}
	var doc *teamDoc
	err = r.update(func(u *postgres.Update) error {
		t, err := r.team(&u.View)
		if err != nil {
			return err
		}
		doc, err = r.applyTeam(u, t, c)
		return err
	})
	return ok(doc), err
}

func deleteTeam(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.DeleteTeam(r.Context(), r.who, r.PathValue("team"))
	})
}
