package tfc

import (
	"net/url"
	"slices"
	"time"

	"github.com/assize-iac/assize/internal/postgres"
)

func policySets() []route {
	n := policySetNoun()
	routes := []route{
		{pattern: "GET /api/v2/organizations/{organisation}/policy-sets", do: n.list(inOrganisation)},
		{pattern: "POST /api/v2/organizations/{organisation}/policy-sets", do: n.create(inOrganisation)},
		{pattern: "GET /api/v2/policy-sets/{id}", do: n.read},
		{pattern: "PATCH /api/v2/policy-sets/{id}", do: n.update},
		{pattern: "DELETE /api/v2/policy-sets/{id}", do: n.remove},
	}
	for _, each := range []struct{ path, relation, kind string }{
		{"policies", "policies", "policies"},
		{"workspaces", "stacks", "workspaces"},
		{"workspace-exclusions", "stack_exclusions", "workspaces"},
		{"projects", "projects", "projects"},
		{"project-exclusions", "project_exclusions", "projects"},
	} {
		path := "/api/v2/policy-sets/{id}/relationships/" + each.path
		routes = append(routes, route{pattern: "POST " + path, do: n.link(each.relation, each.kind)},
			route{pattern: "DELETE " + path, do: n.unlink(each.relation, each.kind)})
	}
	return routes
}

// A policySetDoc is a set of policies, and which workspaces it is for.
type policySetDoc struct {
	ID                  string               `jsonapi:"primary,policy-sets"`
	Name                *string              `jsonapi:"attr,name"`
	VCSRepo             *vcsRepo             `jsonapi:"attr,vcs-repo"`
	PolicyCount         int                  `jsonapi:"attr,policy-count"`
	WorkspaceCount      int                  `jsonapi:"attr,workspace-count"`
	ProjectCount        int                  `jsonapi:"attr,project-count"`
	CreatedAt           time.Time            `jsonapi:"attr,created-at,iso8601"`
	UpdatedAt           time.Time            `jsonapi:"attr,updated-at,iso8601"`
	Settings            policySetSettings    `jsonapi:"attr,*"`
	Organisation        *organisationDoc     `jsonapi:"relation,organization"`
	Policies            []*policyRef         `jsonapi:"relation,policies"`
	Workspaces          []*workspaceRef      `jsonapi:"relation,workspaces"`
	WorkspaceExclusions []*workspaceRef      `jsonapi:"relation,workspace-exclusions"`
	Projects            []*projectRef        `jsonapi:"relation,projects"`
	ProjectExclusions   []*projectRef        `jsonapi:"relation,project-exclusions"`
	NewestVersion       *policySetVersionDoc `jsonapi:"relation,newest-version"`
	CurrentVersion      *policySetVersionDoc `jsonapi:"relation,current-version"`
}

// A vcsRepo is what nothing here has: a repository from which things would come.
type vcsRepo struct {
	Identifier string `jsonapi:"attr,identifier"`
}

type policySetRef struct {
	ID string `jsonapi:"primary,policy-sets"`
}

// policySetSettings are what is kept of a set beside its name and its links.
type policySetSettings struct {
	Description  string   `json:"description"`
	Kind         string   `json:"kind"`
	Overridable  *bool    `json:"overridable"`
	Global       bool     `json:"global"`
	AgentEnabled bool     `json:"agent-enabled"`
	ToolVersion  string   `json:"policy-tool-version"`
	Patterns     []string `json:"policy-update-patterns"`
}

func policySetNoun() noun[policySetDoc, policySetSettings] {
	return noun[policySetDoc, policySetSettings]{kind: postgres.PolicySet, put: putPolicySet, show: showPolicySet,
		fits: func(q url.Values, doc *policySetDoc) bool { return fitsPolicies(q, *doc.Name, doc.Settings.Kind) }}
}

func putPolicySet(_ *request, d *postgres.Deposit, s *policySetSettings, was policySetSettings, sent *policySetDoc) (err error) {
	if sent.VCSRepo != nil {
		return invalid("policies of a repository are not fetched from here").WithHint("upload a version of the policy set")
	}
	if s.Kind, err = kindOfPolicies(was.Kind, s.Kind); err != nil {
		return err
	}
	set(&d.Name, sent.Name)
	workspace, project := func(r *workspaceRef) string { return r.ID }, func(r *projectRef) string { return r.ID }
	d.Links["policies"] = ids(d.Links["policies"], sent.Policies, func(r *policyRef) string { return r.ID })
	d.Links["stacks"] = ids(d.Links["stacks"], sent.Workspaces, workspace)
	d.Links["stack_exclusions"] = ids(d.Links["stack_exclusions"], sent.WorkspaceExclusions, workspace)
	d.Links["projects"] = ids(d.Links["projects"], sent.Projects, project)
	d.Links["project_exclusions"] = ids(d.Links["project_exclusions"], sent.ProjectExclusions, project)
	return nil
}

func showPolicySet(r *request, v *postgres.View, d postgres.Deposit, s policySetSettings) (*policySetDoc, error) {
	switch {
	case s.Kind == "sentinel" && !s.AgentEnabled: // these mean nothing for it
		s.Overridable, s.ToolVersion = nil, ""
	case s.Overridable == nil:
		s.Overridable = new(bool)
	}
	workspace := func(id string) *workspaceRef { return &workspaceRef{ID: id} }
	project := func(id string) *projectRef { return &projectRef{ID: id} }
	doc := &policySetDoc{ID: d.ID, Name: &d.Name, Settings: s, CreatedAt: d.Created, UpdatedAt: d.Updated,
		Organisation:        &organisationDoc{ID: d.OrganisationName},
		Policies:            refs(d.Links["policies"], func(id string) *policyRef { return &policyRef{ID: id} }),
		Workspaces:          refs(d.Links["stacks"], workspace),
		WorkspaceExclusions: refs(d.Links["stack_exclusions"], workspace),
		Projects:            refs(d.Links["projects"], project),
		ProjectExclusions:   refs(d.Links["project_exclusions"], project),
	}
	doc.PolicyCount, doc.WorkspaceCount, doc.ProjectCount = len(doc.Policies), len(doc.Workspaces), len(doc.Projects)
	return doc, doc.putVersions(r, v)
}

// putVersions puts the newest version into the document of a set, and the newest
// that was uploaded.
func (doc *policySetDoc) putVersions(r *request, v *postgres.View) error {
	versions, err := v.Deposits(r.Context(), r.who, postgres.PolicySetVersion, doc.ID)
	if err != nil {
		return err
	}
	for _, version := range slices.Backward(versions) {
		if doc.NewestVersion != nil && version.Digest == "" {
			continue
		}
		shown, err := policySetVersionNoun().doc(r, v, version)
		if err != nil {
			return err
		}
		if doc.NewestVersion == nil {
			doc.NewestVersion = shown
		}
		if version.Digest != "" {
			doc.CurrentVersion = shown
			break
		}
	}
	return nil
}
