package tfc

import (
	"fmt"

	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/postgres"
)

func variables() []route {
	// A variable is of a workspace or of a set, and the same in both.
	var all []route
	for _, of := range []string{"/api/v2/workspaces/{of}/vars", "/api/v2/varsets/{of}/relationships/vars"} {
		all = append(all,
			route{pattern: "GET " + of, do: listVariables},
			route{pattern: "POST " + of, do: createVariable},
			route{pattern: "GET " + of + "/{variable}", do: readVariable},
			route{pattern: "PATCH " + of + "/{variable}", do: updateVariable},
			route{pattern: "DELETE " + of + "/{variable}", do: deleteVariable},
		)
	}
	return append(all, route{pattern: "GET /api/v2/workspaces/{of}/all-vars", do: listEffectiveVariables})
}

// A variableDoc is a variable.
type variableDoc struct {
	ID          string        `jsonapi:"primary,vars"`
	Key         string        `jsonapi:"attr,key"`
	Value       *string       `jsonapi:"attr,value"` // null for one that is sensitive
	Description string        `jsonapi:"attr,description"`
	Category    string        `jsonapi:"attr,category"`
	HCL         bool          `jsonapi:"attr,hcl"`
	Sensitive   bool          `jsonapi:"attr,sensitive"`
	VersionID   string        `jsonapi:"attr,version-id"`
	Workspace   *workspaceRef `jsonapi:"relation,configurable,omitempty"`
	Set         *varsetRef    `jsonapi:"relation,varset,omitempty"`
}

// A workspaceRef points to a workspace.
type workspaceRef struct {
	ID string `jsonapi:"primary,workspaces"`
}

// A varsetRef points to a set of variables.
type varsetRef struct {
	ID string `jsonapi:"primary,varsets"`
}

// A variableRef points to a variable.
type variableRef struct {
	ID string `jsonapi:"primary,vars"`
}

func newVariableDoc(x control.Variable) *variableDoc {
	d := &variableDoc{ID: x.ID, Key: x.Key, Description: x.Description, Category: x.Category, HCL: x.HCL, Sensitive: x.Sensitive,
		VersionID: fmt.Sprintf("%s-%d", x.ID, x.Version)}
	if !x.Sensitive {
		d.Value = &x.Shown
	}
	if x.Stack != "" {
		d.Workspace = &workspaceRef{ID: x.Stack}
	} else {
		d.Set = &varsetRef{ID: x.Set}
	}
	return d
}

func newVariableDocs(all []control.Variable) []*variableDoc {
	docs := []*variableDoc{}
	for _, x := range all {
		docs = append(docs, newVariableDoc(x))
	}
	return docs
}

// A variableChange is what a client wants of a variable.
type variableChange struct {
	ID          string  `jsonapi:"primary,vars"`
	Key         *string `jsonapi:"attr,key"`
	Value       *string `jsonapi:"attr,value"`
	Description *string `jsonapi:"attr,description"`
	Category    *string `jsonapi:"attr,category"`
	HCL         *bool   `jsonapi:"attr,hcl"`
	Sensitive   *bool   `jsonapi:"attr,sensitive"`
}

func listVariables(r *request) (answer, error) {
	all, err := r.control.Variables(r.Context(), r.who, r.PathValue("of"))
	return ok(newVariableDocs(all)), err // all at once: no client turns pages here
}

func listEffectiveVariables(r *request) (answer, error) {
	all, err := r.control.EffectiveVariables(r.Context(), r.who, r.PathValue("of"))
	return ok(newVariableDocs(all)), err
}

func createVariable(r *request) (answer, error) {
	var c variableChange
	if err := r.decode(&c); err != nil {
		return answer{}, err
	}
	x := postgres.Variable{Key: value(c.Key), Description: value(c.Description), Category: value(c.Category), HCL: value(c.HCL), Sensitive: value(c.Sensitive)}
	made, err := r.control.CreateVariable(r.Context(), r.who, r.PathValue("of"), x, value(c.Value))
	return created(newVariableDoc(made)), err
}

// value is what a client has sent, or nothing.
func value[T any](sent *T) T {
	if sent == nil {
		return *new(T)
	}
	return *sent
}

func readVariable(r *request) (answer, error) {
	x, err := r.control.Variable(r.Context(), r.who, r.PathValue("of"), r.PathValue("variable"))
	return ok(newVariableDoc(x)), err
}

func updateVariable(r *request) (answer, error) {
	var c variableChange
	if err := r.decode(&c); err != nil {
		return answer{}, err
	}
	with := postgres.VariableChange{Category: c.Category, Key: c.Key, Description: c.Description, HCL: c.HCL, Sensitive: c.Sensitive}
	x, err := r.control.ChangeVariable(r.Context(), r.who, r.PathValue("of"), r.PathValue("variable"), with, c.Value)
	return ok(newVariableDoc(x)), err
}

func deleteVariable(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.DeleteVariable(r.Context(), r.who, r.PathValue("of"), r.PathValue("variable"))
	})
}

// given adds to a workspace what its runs are given, as far as the client may see
// that. In a list it would have to be asked for each.
func (r *request) given(v *postgres.View, d *workspaceDoc) error {
	current, err := v.CurrentConfiguration(r.Context(), r.who, d.ID)
	if err != nil {
		return err
	}
	if current != "" {
		d.Configuration = &configurationRef{ID: current}
	}
	if !d.Permissions.CanReadVariable {
		return nil
	}
	ids, err := v.VariableIDs(r.Context(), r.who, d.ID)
	for _, id := range ids {
		d.Variables = append(d.Variables, &variableRef{ID: id})
	}
	return err
}
