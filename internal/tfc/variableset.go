package tfc

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

func variableSets() []route {
	const byID = "/api/v2/varsets/{varset}"
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/varsets", do: listVariableSets},
		{pattern: "POST /api/v2/organizations/{organisation}/varsets", do: createVariableSet},
		{pattern: "GET /api/v2/workspaces/{of}/varsets", do: listVariableSetsOf},
		{pattern: "GET /api/v2/projects/{of}/varsets", do: listVariableSetsOf},
		{pattern: "GET " + byID, do: readVariableSet},
		{pattern: "PATCH " + byID, do: updateVariableSet},
		{pattern: "PUT " + byID, do: updateVariableSet},
		{pattern: "DELETE " + byID, do: deleteVariableSet},
		{pattern: "POST " + byID + "/relationships/workspaces", do: applyToWorkspaces},
		{pattern: "DELETE " + byID + "/relationships/workspaces", do: removeFromWorkspaces},
		{pattern: "POST " + byID + "/relationships/projects", do: applyToProjects},
		{pattern: "DELETE " + byID + "/relationships/projects", do: removeFromProjects},
	}
}

// A variableSetDoc is a set of variables.
type variableSetDoc struct {
	ID           string           `jsonapi:"primary,varsets"`
	Name         string           `jsonapi:"attr,name"`
	Description  string           `jsonapi:"attr,description"`
	Global       bool             `jsonapi:"attr,global"`
	Priority     bool             `jsonapi:"attr,priority"`
	Organisation *organisationRef `jsonapi:"relation,organization"`
	Parent       *parentRef       `jsonapi:"polyrelation,parent"`
	Workspaces   []*workspaceRef  `jsonapi:"relation,workspaces"`
	Projects     []*projectRef    `jsonapi:"relation,projects"`
	Variables    []*variableDoc   `jsonapi:"relation,vars"`
}

// A parentRef points to what a set belongs to: one of the two.
type parentRef struct {
	Organisation *organisationRef
	Project      *projectRef
}

func newVariableSetDoc(s postgres.VariableSet, o postgres.Organisation) *variableSetDoc {
	d := &variableSetDoc{ID: s.ID, Name: s.Name, Description: s.Description, Global: s.Global, Priority: s.Priority,
		Organisation: &organisationRef{ID: o.Name}, Parent: &parentRef{Project: &projectRef{ID: s.Project}},
		Workspaces: workspaceRefs(s.Stacks), Projects: projectRefs(s.Projects), Variables: []*variableDoc{}}
	if s.Project == "" {
		d.Parent = &parentRef{Organisation: d.Organisation}
	}
	for _, id := range s.Variables {
		d.Variables = append(d.Variables, &variableDoc{ID: id}) // points to it; see unfold
	}
	return d
}

func workspaceRefs(ids []string) []*workspaceRef {
	refs := []*workspaceRef{}
	for _, id := range ids {
		refs = append(refs, &workspaceRef{ID: id})
	}
	return refs
}

func projectRefs(ids []string) []*projectRef {
	refs := []*projectRef{}
	for _, id := range ids {
		refs = append(refs, &projectRef{ID: id})
	}
	return refs
}

// unfold puts the variables themselves into sets, if the client wants them included:
// those of sets that it may read.
func (r *request) unfold(docs ...*variableSetDoc) error {
	if !slices.Contains(r.include(), "vars") {
		return nil
	}
	for _, d := range docs {
		all, err := r.control.Variables(r.Context(), r.who, d.ID)
		if err != nil && problem.Code(err) != api.Forbidden {
			return err
		}
		d.Variables = newVariableDocs(all)
	}
	return nil
}

// A variableSetChange is what a client wants of a set.
type variableSetChange struct {
	ID          string  `jsonapi:"primary,varsets"`
	Name        *string `jsonapi:"attr,name"`
	Description *string `jsonapi:"attr,description"`
	Global      *bool   `jsonapi:"attr,global"`
	Priority    *bool   `jsonapi:"attr,priority"`
}

// relations are the identifiers in the relationships of a document, by their names.
// One that is there and empty is not the same as one that is not there, which the
// decoder of documents cannot tell.
type relations map[string][]string

// decodeRelations reads one JSON:API document into doc, like decode, and returns
// its relations.
func (r *request) decodeRelations(doc any) (relations, error) {
	data, err := r.body(bodyMax)
	if err != nil {
		return nil, err
	}
	if err := decode(data, doc); err != nil {
		return nil, err
	}
	var body struct {
		Data struct {
			Relationships map[string]struct{ Data json.RawMessage }
		}
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, notJSONAPI(err)
	}
	found := relations{}
	for name, relation := range body.Data.Relationships {
		if len(relation.Data) == 0 {
			continue // it says where else one could look
		}
		ids, err := identified(relation.Data)
		if err != nil {
			return nil, notJSONAPI(err)
		}
		found[name] = ids
	}
	return found, nil
}

// identified are the ids in a relation to one or to many.
func identified(data json.RawMessage) ([]string, error) {
	type identifier struct{ ID string }
	var many []identifier
	if err := json.Unmarshal(data, &many); err != nil {
		var one identifier
		if json.Unmarshal(data, &one) != nil || one.ID == "" {
			return nil, errors.New("a relation is neither to one nor to many")
		}
		many = []identifier{one}
	}
	ids := []string{}
	for _, m := range many {
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// many are the identifiers of a relation; nil if there is no such relation.
func (rs relations) many(name string) *[]string {
	ids, ok := rs[name]
	if !ok {
		return nil
	}
	return &ids
}

// one is the identifier of a relation, "" if there is none.
func (rs relations) one(name string) string {
	if ids := rs[name]; len(ids) == 1 {
		return ids[0]
	}
	return ""
}

func listVariableSets(r *request) (answer, error) {
	p := r.paging()
	var docs []*variableSetDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.home(v)
		if err != nil {
			return err
		}
		all, err := v.VariableSets(r.Context(), r.who, o.ID)
		docs = r.variableSetDocs(all, o, &p)
		return err
	})
	if err == nil {
		err = r.unfold(docs...)
	}
	return listed(docs, p), err
}

// variableSetDocs are a page of those sets that the client looks for.
func (r *request) variableSetDocs(all []postgres.VariableSet, o postgres.Organisation, p *page) []*variableSetDoc {
	var found []postgres.VariableSet
	for _, s := range all {
		if contains(s.Name, r.URL.Query().Get("q")) {
			found = append(found, s)
		}
	}
	var docs []*variableSetDoc
	for _, s := range part(found, p) {
		docs = append(docs, newVariableSetDoc(s, o))
	}
	return docs
}

func listVariableSetsOf(r *request) (answer, error) {
	p := r.paging()
	var docs []*variableSetDoc
	err := r.view(func(v *postgres.View) error {
		all, err := v.VariableSetsOf(r.Context(), r.who, r.PathValue("of"))
		if err != nil || len(all) == 0 {
			return err
		}
		o, err := v.HomeOf(r.Context(), r.who, all[0].Organisation)
		docs = r.variableSetDocs(all, o, &p)
		return err
	})
	if err == nil {
		err = r.unfold(docs...)
	}
	return listed(docs, p), err
}

func createVariableSet(r *request) (answer, error) {
	var c variableSetChange
	relations, err := r.decodeRelations(&c)
	if err != nil {
		return answer{}, err
	}
	var doc *variableSetDoc
	err = r.update(func(u *postgres.Update) error {
		o, err := r.home(&u.View)
		if err != nil {
			return err
		}
		s := postgres.VariableSet{Organisation: o.ID, Name: value(c.Name), Description: value(c.Description), Global: value(c.Global),
			Priority: value(c.Priority), Stacks: relations["workspaces"], Projects: relations["projects"]}
		if parent := relations.one("parent"); parent != o.Name {
			s.Project = parent
		}
		s, err = u.CreateVariableSet(r.Context(), r.who, s)
		doc = newVariableSetDoc(s, o)
		return err
	})
	return created(doc), err
}

func readVariableSet(r *request) (answer, error) {
	var doc *variableSetDoc
	err := r.view(func(v *postgres.View) error {
		s, err := v.VariableSet(r.Context(), r.who, r.PathValue("varset"))
		if err != nil {
			return err
		}
		doc, err = r.variableSetDoc(v, s)
		return err
	})
	if err == nil {
		err = r.unfold(doc)
	}
	return ok(doc), err
}

func (r *request) variableSetDoc(v *postgres.View, s postgres.VariableSet) (*variableSetDoc, error) {
	o, err := v.HomeOf(r.Context(), r.who, s.Organisation)
	return newVariableSetDoc(s, o), err
}

func updateVariableSet(r *request) (answer, error) {
	var c variableSetChange
	relations, err := r.decodeRelations(&c)
	if err != nil {
		return answer{}, err
	}
	with := postgres.VariableSetChange{Name: c.Name, Description: c.Description, Global: c.Global, Priority: c.Priority,
		Stacks: relations.many("workspaces"), Projects: relations.many("projects")}
	var doc *variableSetDoc
	err = r.update(func(u *postgres.Update) error {
		s, err := u.ChangeVariableSet(r.Context(), r.who, r.PathValue("varset"), with)
		if err != nil {
			return err
		}
		doc, err = r.variableSetDoc(&u.View, s)
		return err
	})
	return ok(doc), err
}

func deleteVariableSet(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.DeleteVariableSet(r.Context(), r.who, r.PathValue("varset"))
	})
}

func applyToWorkspaces(r *request) (answer, error) {
	ids, err := r.references("workspaces")
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.ApplyVariableSet(r.Context(), r.who, r.PathValue("varset"), ids, nil)
	})
}

func applyToProjects(r *request) (answer, error) {
	ids, err := r.references("projects")
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.ApplyVariableSet(r.Context(), r.who, r.PathValue("varset"), nil, ids)
	})
}

func removeFromWorkspaces(r *request) (answer, error) {
	ids, err := r.references("workspaces")
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.RemoveVariableSet(r.Context(), r.who, r.PathValue("varset"), ids, nil)
	})
}

func removeFromProjects(r *request) (answer, error) {
	ids, err := r.references("projects")
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.RemoveVariableSet(r.Context(), r.who, r.PathValue("varset"), nil, ids)
	})
}
