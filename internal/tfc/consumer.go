package tfc

import "github.com/assize-iac/assize/internal/postgres"

func consumers() []route {
	const path = "/api/v2/workspaces/{workspace}/relationships/remote-state-consumers"
	return []route{
		{pattern: "GET " + path, do: listConsumers},
		{pattern: "POST " + path, do: addConsumers},
		{pattern: "PATCH " + path, do: setConsumers},
		{pattern: "DELETE " + path, do: deleteConsumers},
	}
}

func listConsumers(r *request) (answer, error) {
	p := r.paging()
	var docs []*workspaceDoc
	err := r.view(func(v *postgres.View) error {
		found, err := v.Consumers(r.Context(), r.who, r.PathValue("workspace"))
		if err != nil || len(found) == 0 {
			return err
		}
		o, err := v.HomeOf(r.Context(), r.who, found[0].Organisation)
		if err != nil {
			return err
		}
		docs, err = r.workspaceDocs(v, o, part(found, &p))
		return err
	})
	return listed(docs, p), err
}

func addConsumers(r *request) (answer, error) { return r.putConsumers(false) }

func setConsumers(r *request) (answer, error) { return r.putConsumers(true) }

func (r *request) putConsumers(all bool) (answer, error) {
	ids, err := r.references("workspaces")
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.PutConsumers(r.Context(), r.who, r.PathValue("workspace"), ids, all)
	})
}

func deleteConsumers(r *request) (answer, error) {
	ids, err := r.references("workspaces")
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.DeleteConsumers(r.Context(), r.who, r.PathValue("workspace"), ids)
	})
}
