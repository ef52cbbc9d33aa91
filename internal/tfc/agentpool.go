package tfc

import (
	"time"

	"github.com/assize-iac/assize/internal/postgres"
)

func agentPools() []route {
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/agent-pools", do: listAgentPools},
		{pattern: "POST /api/v2/organizations/{organisation}/agent-pools", do: createAgentPool},
		{pattern: "GET /api/v2/agent-pools/{pool}", do: readAgentPool},
		{pattern: "PATCH /api/v2/agent-pools/{pool}", do: updateAgentPool},
		{pattern: "DELETE /api/v2/agent-pools/{pool}", do: deleteAgentPool},
	}
}

// An agentPoolDoc is a pool of agents, of which there are none yet.
type agentPoolDoc struct {
	ID                 string           `jsonapi:"primary,agent-pools"`
	Name               string           `jsonapi:"attr,name"`
	AgentCount         int              `jsonapi:"attr,agent-count"`
	OrganisationScoped bool             `jsonapi:"attr,organization-scoped"`
	CreatedAt          time.Time        `jsonapi:"attr,created-at,iso8601"`
	Organisation       *organisationRef `jsonapi:"relation,organization"`
	Allowed            []*workspaceRef  `jsonapi:"relation,allowed-workspaces"`
	AllowedProjects    []*projectRef    `jsonapi:"relation,allowed-projects"`
	Excluded           []*workspaceRef  `jsonapi:"relation,excluded-workspaces"`
}

func newAgentPoolDoc(p postgres.AgentPool, o postgres.Organisation) *agentPoolDoc {
	return &agentPoolDoc{ID: p.ID, Name: p.Name, OrganisationScoped: p.ForAll, CreatedAt: p.Created, Organisation: &organisationRef{ID: o.Name},
		Allowed: workspaceRefs(p.Allowed), AllowedProjects: projectRefs(p.AllowedProjects), Excluded: workspaceRefs(p.Excluded)}
}

// agentPoolDoc is a pool as the client sees it.
func (r *request) agentPoolDoc(v *postgres.View, p postgres.AgentPool) (*agentPoolDoc, error) {
	o, err := v.HomeOf(r.Context(), r.who, p.Organisation)
	return newAgentPoolDoc(p, o), err
}

// agentPoolChange reads what a client wants of a pool.
func (r *request) agentPoolChange() (postgres.AgentPoolChange, error) {
	var doc struct {
		ID                 string  `jsonapi:"primary,agent-pools"`
		Name               *string `jsonapi:"attr,name"`
		OrganisationScoped *bool   `jsonapi:"attr,organization-scoped"`
	}
	relations, err := r.decodeRelations(&doc)
	return postgres.AgentPoolChange{Name: doc.Name, ForAll: doc.OrganisationScoped, Allowed: relations.many("allowed-workspaces"),
		AllowedProjects: relations.many("allowed-projects"), Excluded: relations.many("excluded-workspaces")}, err
}

func listAgentPools(r *request) (answer, error) {
	p := r.paging()
	var docs []*agentPoolDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.home(v)
		if err != nil {
			return err
		}
		all, err := v.AgentPools(r.Context(), r.who, o.ID)
		var found []postgres.AgentPool
		for _, pool := range all {
			if contains(pool.Name, r.URL.Query().Get("q")) {
				found = append(found, pool)
			}
		}
		for _, pool := range part(found, &p) {
			docs = append(docs, newAgentPoolDoc(pool, o))
		}
		return err
	})
	return listed(docs, p), err
}

func createAgentPool(r *request) (answer, error) {
	c, err := r.agentPoolChange()
	if err != nil {
		return answer{}, err
	}
	var doc *agentPoolDoc
	err = r.update(func(u *postgres.Update) error {
		o, err := r.home(&u.View)
		if err != nil {
			return err
		}
		pool := postgres.AgentPool{Organisation: o.ID, Name: value(c.Name), ForAll: c.ForAll == nil || *c.ForAll,
			Allowed: value(c.Allowed), AllowedProjects: value(c.AllowedProjects), Excluded: value(c.Excluded)}
		pool, err = u.CreateAgentPool(r.Context(), r.who, pool)
		doc = newAgentPoolDoc(pool, o)
		return err
	})
	return created(doc), err
}

func readAgentPool(r *request) (answer, error) {
	var doc *agentPoolDoc
	err := r.view(func(v *postgres.View) error {
		p, err := v.AgentPool(r.Context(), r.who, r.PathValue("pool"))
		if err != nil {
			return err
		}
		doc, err = r.agentPoolDoc(v, p)
		return err
	})
	return ok(doc), err
}

func updateAgentPool(r *request) (answer, error) {
	c, err := r.agentPoolChange()
	if err != nil {
		return answer{}, err
	}
	var doc *agentPoolDoc
	err = r.update(func(u *postgres.Update) error {
		p, err := u.ChangeAgentPool(r.Context(), r.who, r.PathValue("pool"), c)
		if err != nil {
			return err
		}
		doc, err = r.agentPoolDoc(&u.View, p)
		return err
	})
	return ok(doc), err
}

func deleteAgentPool(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.DeleteAgentPool(r.Context(), r.who, r.PathValue("pool"))
	})
}
