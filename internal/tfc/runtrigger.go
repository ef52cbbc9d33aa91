package tfc

import (
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

func runTriggers() []route {
	return []route{
		{pattern: "GET /api/v2/workspaces/{workspace}/run-triggers", do: listRunTriggers},
		{pattern: "POST /api/v2/workspaces/{workspace}/run-triggers", do: createRunTrigger},
		{pattern: "GET /api/v2/run-triggers/{trigger}", do: readRunTrigger},
		{pattern: "DELETE /api/v2/run-triggers/{trigger}", do: deleteRunTrigger},
	}
}

// A runTriggerDoc says after which other workspace one is run.
type runTriggerDoc struct {
	ID             string        `jsonapi:"primary,run-triggers"`
	CreatedAt      time.Time     `jsonapi:"attr,created-at,iso8601"`
	SourceableName string        `jsonapi:"attr,sourceable-name"`
	WorkspaceName  string        `jsonapi:"attr,workspace-name"`
	Sourceable     *workspaceDoc `jsonapi:"relation,sourceable"`
	Workspace      *workspaceDoc `jsonapi:"relation,workspace"`
}

// runTriggerDoc is a trigger as the client sees it. Of a workspace that the client
// may not see, it is told the name and the id.
func (r *request) runTriggerDoc(v *postgres.View, t postgres.RunTrigger) (*runTriggerDoc, error) {
	d := &runTriggerDoc{ID: t.ID, CreatedAt: t.Created, SourceableName: t.SourceName, WorkspaceName: t.StackName,
		Sourceable: &workspaceDoc{ID: t.Source, Name: t.SourceName}, Workspace: &workspaceDoc{ID: t.Stack, Name: t.StackName}}
	for _, side := range []**workspaceDoc{&d.Sourceable, &d.Workspace} {
		s, err := v.Stack(r.Context(), r.who, (*side).ID)
		if problem.Code(err) == api.Forbidden || problem.Code(err) == api.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if *side, err = r.workspaceDoc(v, s); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func listRunTriggers(r *request) (answer, error) {
	p := r.paging()
	outbound := false
	switch r.URL.Query().Get("filter[run-trigger][type]") {
	case "inbound":
	case "outbound":
		outbound = true
	default:
		return answer{}, problem.New(api.Invalid, "which triggers are wanted is not said").
			WithHint("filter[run-trigger][type]=inbound, or outbound")
	}
	var docs []*runTriggerDoc
	err := r.view(func(v *postgres.View) error {
		all, err := v.RunTriggers(r.Context(), r.who, r.PathValue("workspace"), outbound)
		if err != nil {
			return err
		}
		docs, err = each(part(all, &p), func(t postgres.RunTrigger) (*runTriggerDoc, error) { return r.runTriggerDoc(v, t) })
		return err
	})
	return listed(docs, p), err
}

func createRunTrigger(r *request) (answer, error) {
	var wanted struct {
		ID         string        `jsonapi:"primary,run-triggers"`
		Sourceable *workspaceRef `jsonapi:"relation,sourceable"`
	}
	if err := r.decode(&wanted); err != nil {
		return answer{}, err
	}
	if wanted.Sourceable == nil {
		return answer{}, problem.New(api.Invalid, "the workspace that triggers is not named").WithHint("send the relation sourceable")
	}
	var doc *runTriggerDoc
	err := r.update(func(u *postgres.Update) error {
		t, err := u.CreateRunTrigger(r.Context(), r.who, r.PathValue("workspace"), wanted.Sourceable.ID)
		if err != nil {
			return err
		}
		doc, err = r.runTriggerDoc(&u.View, t)
		return err
	})
	return created(doc), err
}

func readRunTrigger(r *request) (answer, error) {
	var doc *runTriggerDoc
	err := r.view(func(v *postgres.View) error {
		t, err := v.RunTrigger(r.Context(), r.who, r.PathValue("trigger"))
		if err != nil {
			return err
		}
		doc, err = r.runTriggerDoc(v, t)
		return err
	})
	return ok(doc), err
}

func deleteRunTrigger(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.DeleteRunTrigger(r.Context(), r.who, r.PathValue("trigger"))
	})
}
