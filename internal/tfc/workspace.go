package tfc

import (
	"encoding/json"
	"slices"

	"github.com/assize-iac/assize/internal/postgres"
)

func workspaces() []route {
	const named, byID = "/api/v2/organizations/{organisation}/workspaces/{name}", "/api/v2/workspaces/{workspace}"
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/workspaces", do: listWorkspaces},
		{pattern: "POST /api/v2/organizations/{organisation}/workspaces", do: createWorkspace},
		{pattern: "GET " + named, do: readWorkspace},
		{pattern: "GET " + byID, do: readWorkspace},
		{pattern: "PATCH " + named, do: updateWorkspace},
		{pattern: "PATCH " + byID, do: updateWorkspace},
		{pattern: "DELETE " + named, do: deleteWorkspace},
		{pattern: "DELETE " + byID, do: deleteWorkspace},
		{pattern: "PATCH " + byID + "/relationships/ssh-key", do: assignSSHKey},
		{pattern: "POST " + named + "/actions/safe-delete", do: safeDeleteWorkspace},
		{pattern: "POST " + byID + "/actions/safe-delete", do: safeDeleteWorkspace},
	}
}

// workspace is the stack that the path names, by its id or its organisation's and
// its own name.
func (r *request) workspace(v *postgres.View) (postgres.Stack, error) {
	if id := r.PathValue("workspace"); id != "" {
		return v.Stack(r.Context(), r.who, id)
	}
	o, err := r.home(v)
	if err != nil {
		return postgres.Stack{}, err
	}
	return v.StackByName(r.Context(), r.who, o.ID, r.PathValue("name"))
}

func listWorkspaces(r *request) (answer, error) {
	p := r.paging()
	var docs []*workspaceDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.home(v)
		if err != nil {
			return err
		}
		if r.URL.Query().Get("filter[current-run][status]") != "" {
			return nil // there are no runs yet (docs/protocol.md, rule 16)
		}
		found, total, err := v.Stacks(r.Context(), r.who, r.stackQuery(o, p))
		if err != nil {
			return err
		}
		p.total = total
		docs, err = r.workspaceDocs(v, o, found)
		return err
	})
	return listed(docs, p), err
}

// stackQuery is which stacks of an organisation the client asks for.
func (r *request) stackQuery(o postgres.Organisation, p page) postgres.StackQuery {
	q := r.URL.Query()
	tags, without := wantedTags(q)
	return postgres.StackQuery{Organisation: o.ID, Project: q.Get("filter[project][id]"), Name: q.Get("search[name]"),
		Wildcard: q.Get("search[wildcard-name]"), Tags: tags, Without: without, Descending: q.Get("sort") == "-name", Offset: p.offset(), Limit: p.size}
}

// change changes a stack as far as the client may.
func (r *request) change(v *postgres.View, s *postgres.Stack, c workspaceChange) error {
	e, err := c.onto(s)
	if err != nil {
		return err
	}
	return r.checkExecution(v, s.Organisation, e)
}

func createWorkspace(r *request) (answer, error) {
	c, err := r.workspaceChange()
	if err != nil {
		return answer{}, err
	}
	var doc *workspaceDoc
	err = r.update(func(u *postgres.Update) error {
		o, err := r.home(&u.View)
		if err != nil {
			return err
		}
		s, err := r.newStack(&u.View, o, c)
		if err != nil {
			return err
		}
		if s, err = u.CreateStack(r.Context(), r.who, s); err != nil {
			return err
		}
		doc, err = r.retag(u, s, c)
		return err
	})
	return created(doc), err
}

// newStack is the one that a client wants in an organisation. Where neither the
// client nor the organisation says how runs are executed, they are where the
// client is (docs/protocol.md, rule 9).
func (r *request) newStack(v *postgres.View, o postgres.Organisation, c workspaceChange) (postgres.Stack, error) {
	above, err := organisationSettingsOf(o)
	if err != nil {
		return postgres.Stack{}, err
	}
	s := postgres.Stack{Organisation: o.ID, Project: o.Project, Settings: json.RawMessage(`{}`)}
	if above.DefaultExecutionMode == "" {
		s.Settings = json.RawMessage(`{"execution-mode": "local"}`)
	}
	return s, r.change(v, &s, c)
}

// retag changes the tags of a stack with the rest of it.
func (r *request) retag(u *postgres.Update, s postgres.Stack, c workspaceChange) (*workspaceDoc, error) {
	if _, all := c.settings.relations["tag-bindings"]; all {
		if err := u.PutTags(r.Context(), r.who, s.ID, tagged(c.Bindings), true); err != nil {
			return nil, err
		}
	}
	if len(c.Tags) > 0 {
		if err := u.AddTags(r.Context(), r.who, s.ID, tagged(c.Tags)); err != nil {
			return nil, err
		}
	}
	s, err := u.Stack(r.Context(), r.who, s.ID)
	if err != nil {
		return nil, err
	}
	return r.workspaceDoc(&u.View, s)
}

func readWorkspace(r *request) (answer, error) {
	var doc *workspaceDoc
	err := r.view(func(v *postgres.View) error {
		s, err := r.workspace(v)
		if err != nil {
			return err
		}
		doc, err = r.workspaceDoc(v, s)
		return err
	})
	if err == nil && slices.Contains(r.include(), "outputs") {
		err = r.includeOutputs(doc)
	}
	return ok(doc), err
}

// includeOutputs adds the outputs of the current state, if the client may read them.
func (r *request) includeOutputs(d *workspaceDoc) error {
	if d.CurrentState == nil || !d.Permissions.CanReadStateOutputs {
		return nil
	}
	found, err := r.outputDocs(d.CurrentState.ID, true)
	for _, o := range found {
		d.Outputs = append(d.Outputs, &workspaceOutput{ID: o.ID, Name: o.Name, Sensitive: o.Sensitive, Type: o.Type, Value: o.Value})
	}
	return err
}

func updateWorkspace(r *request) (answer, error) {
	c, err := r.workspaceChange()
	if err != nil {
		return answer{}, err
	}
	var doc *workspaceDoc
	err = r.update(func(u *postgres.Update) error {
		s, err := r.workspace(&u.View)
		if err != nil {
			return err
		}
		if err := r.change(&u.View, &s, c); err != nil {
			return err
		}
		if s, err = u.ChangeStack(r.Context(), r.who, s); err != nil {
			return err
		}
		doc, err = r.retag(u, s, c)
		return err
	})
	return ok(doc), err
}

func deleteWorkspace(r *request) (answer, error) { return r.deleteWorkspace(true) }

func safeDeleteWorkspace(r *request) (answer, error) { return r.deleteWorkspace(false) }

func (r *request) deleteWorkspace(force bool) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		s, err := r.workspace(&u.View)
		if err != nil {
			return err
		}
		return u.DeleteStack(r.Context(), r.who, s.ID, force)
	})
}
