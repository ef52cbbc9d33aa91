package tfc

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/jsonapi"

	"github.com/assize-iac/assize/internal/postgres"
)

func tags() []route {
	const workspace, project = "/api/v2/workspaces/{workspace}", "/api/v2/projects/{project}"
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/tags", do: listOrganisationTags},
		{pattern: "DELETE /api/v2/organizations/{organisation}/tags", do: deleteOrganisationTags},
		{pattern: "POST /api/v2/tags/{tag}/relationships/workspaces", do: tagWorkspaces},
		{pattern: "GET " + workspace + "/relationships/tags", do: listWorkspaceTags},
		{pattern: "POST " + workspace + "/relationships/tags", do: addWorkspaceTags},
		{pattern: "DELETE " + workspace + "/relationships/tags", do: removeWorkspaceTags},
		{pattern: "GET " + workspace + "/tag-bindings", do: listBindings},
		{pattern: "PATCH " + workspace + "/tag-bindings", do: putBindings},
		{pattern: "GET " + workspace + "/effective-tag-bindings", do: listEffectiveBindings},
		{pattern: "GET " + project + "/tag-bindings", do: listBindings},
		{pattern: "PATCH " + project + "/tag-bindings", do: putBindings},
		{pattern: "GET " + project + "/effective-tag-bindings", do: listEffectiveBindings},
	}
}

// A tagDoc is a tag by its key alone.
type tagDoc struct {
	ID            string           `jsonapi:"primary,tags"`
	Name          string           `jsonapi:"attr,name"`
	InstanceCount *int             `jsonapi:"attr,instance-count,omitempty"`
	Organisation  *organisationDoc `jsonapi:"relation,organization,omitempty"`
}

func (d *tagDoc) tag() postgres.Tag { return postgres.Tag{ID: d.ID, Key: d.Name} }

// A bindingDoc is a tag with its value on a workspace or a project.
type bindingDoc struct {
	ID    string `jsonapi:"primary,tag-bindings"`
	Key   string `jsonapi:"attr,key"`
	Value string `jsonapi:"attr,value"`
}

func (d *bindingDoc) tag() postgres.Tag { return postgres.Tag{Key: d.Key, Value: d.Value} }

// tagged are the tags of documents.
func tagged[D interface{ tag() postgres.Tag }](docs []D) []postgres.Tag {
	var tags []postgres.Tag
	for _, d := range docs {
		tags = append(tags, d.tag())
	}
	return tags
}

func newBindingDocs(tags []postgres.Tag, on string) []*bindingDoc {
	docs := []*bindingDoc{}
	for _, t := range tags {
		docs = append(docs, &bindingDoc{ID: t.ID + "-" + on, Key: t.Key, Value: t.Value})
	}
	return docs
}

// An effectiveDoc is a tag that a workspace has or inherits from its project, or
// that a project has.
type effectiveDoc struct {
	ID        string `jsonapi:"primary,effective-tag-bindings"`
	Key       string `jsonapi:"attr,key"`
	Value     string `jsonapi:"attr,value"`
	inherited string // where from, "" for its own
}

// JSONAPILinks say where an inherited tag is from.
func (d *effectiveDoc) JSONAPILinks() *jsonapi.Links {
	if d.inherited == "" {
		return &jsonapi.Links{}
	}
	return &jsonapi.Links{"inherited-from": d.inherited}
}

// newEffectiveDocs are the tags of a thing, and those of its project that it does
// not have itself.
func newEffectiveDocs(own []postgres.Tag, on string, above postgres.Project) []*effectiveDoc {
	docs := []*effectiveDoc{}
	for _, t := range own {
		docs = append(docs, &effectiveDoc{ID: t.ID + "-" + on, Key: t.Key, Value: t.Value})
	}
	for _, t := range above.Tags {
		if !slices.ContainsFunc(own, func(o postgres.Tag) bool { return o.ID == t.ID }) {
			docs = append(docs, &effectiveDoc{ID: t.ID + "-" + on, Key: t.Key, Value: t.Value, inherited: "/api/v2/projects/" + above.ID})
		}
	}
	return docs
}

func listOrganisationTags(r *request) (answer, error) {
	p := r.paging()
	docs := []*tagDoc{}
	err := r.view(func(v *postgres.View) error {
		o, err := r.organisation(v)
		if err != nil {
			return err
		}
		q := r.URL.Query()
		words, err := v.Words(r.Context(), r.who, o.ID, q.Get("q"), q.Get("filter[exclude][taggable][id]"))
		for _, w := range part(words, &p) {
			docs = append(docs, &tagDoc{ID: w.ID, Name: w.Key, InstanceCount: &w.Stacks, Organisation: &organisationDoc{ID: o.Name}})
		}
		return err
	})
	return listed(docs, p), err
}

func deleteOrganisationTags(r *request) (answer, error) {
	ids, err := r.references("tags")
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		o, err := r.organisation(&u.View)
		if err != nil {
			return err
		}
		return u.DeleteWords(r.Context(), r.who, o.ID, ids)
	})
}

func tagWorkspaces(r *request) (answer, error) {
	ids, err := r.references("workspaces")
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.TagStacks(r.Context(), r.who, r.PathValue("tag"), ids)
	})
}

func listWorkspaceTags(r *request) (answer, error) {
	p := r.paging()
	docs := []*tagDoc{}
	err := r.view(func(v *postgres.View) error {
		s, err := r.workspace(v)
		for _, t := range part(s.Tags, &p) {
			docs = append(docs, &tagDoc{ID: t.ID, Name: t.Key})
		}
		return err
	})
	return listed(docs, p), err
}

func addWorkspaceTags(r *request) (answer, error) {
	docs, err := decodeAll[tagDoc](r)
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.AddTags(r.Context(), r.who, r.PathValue("workspace"), tagged(docs))
	})
}

func removeWorkspaceTags(r *request) (answer, error) {
	docs, err := decodeAll[tagDoc](r)
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.DeleteTags(r.Context(), r.who, r.PathValue("workspace"), tagged(docs))
	})
}

// taggable is the workspace or the project that the path names: its tags, its id,
// and what it inherits from.
func (r *request) taggable(v *postgres.View) ([]postgres.Tag, string, postgres.Project, error) {
	if id := r.PathValue("project"); id != "" {
		p, err := v.Project(r.Context(), r.who, id)
		return p.Tags, p.ID, postgres.Project{}, err
	}
	s, err := r.workspace(v)
	if err != nil {
		return nil, "", postgres.Project{}, err
	}
	return s.Tags, s.ID, s.Above, nil
}

func listBindings(r *request) (answer, error) {
	var docs []*bindingDoc
	err := r.view(func(v *postgres.View) error {
		tags, id, _, err := r.taggable(v)
		docs = newBindingDocs(tags, id)
		return err
	})
	return ok(docs), err
}

func listEffectiveBindings(r *request) (answer, error) {
	var docs []*effectiveDoc
	err := r.view(func(v *postgres.View) error {
		tags, id, above, err := r.taggable(v)
		docs = newEffectiveDocs(tags, id, above)
		return err
	})
	return ok(docs), err
}

func putBindings(r *request) (answer, error) {
	wanted, err := decodeAll[bindingDoc](r)
	if err != nil {
		return answer{}, err
	}
	var docs []*bindingDoc
	err = r.update(func(u *postgres.Update) error {
		_, id, _, err := r.taggable(&u.View)
		if err != nil {
			return err
		}
		if err := u.PutTags(r.Context(), r.who, id, tagged(wanted), false); err != nil {
			return err
		}
		tags, _, _, err := r.taggable(&u.View)
		docs = newBindingDocs(tags, id)
		return err
	})
	return ok(docs), err
}

// wantedTags are the tags that a client asks for in the query of a list: by their
// keys alone, separated by commas, and with values, by number.
func wantedTags(q url.Values) (tags []postgres.Tag, without []string) {
	for _, key := range split(q.Get("search[tags]")) {
		tags = append(tags, postgres.Tag{Key: key})
	}
	for i := 0; ; i++ {
		key := q.Get(fmt.Sprintf("filter[tagged][%d][key]", i))
		if key == "" {
			return tags, split(q.Get("search[exclude-tags]"))
		}
		tags = append(tags, postgres.Tag{Key: key, Value: q.Get(fmt.Sprintf("filter[tagged][%d][value]", i))})
	}
}

// split is a list that is separated by commas; nil for none.
func split(list string) []string {
	var parts []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
