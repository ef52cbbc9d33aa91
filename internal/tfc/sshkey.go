package tfc

import (
	"encoding/json"

	"github.com/assize-iac/assize/internal/postgres"
)

func sshKeys() []route {
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/ssh-keys", do: listSSHKeys},
		{pattern: "POST /api/v2/organizations/{organisation}/ssh-keys", do: createSSHKey},
		{pattern: "GET /api/v2/ssh-keys/{key}", do: readSSHKey},
		{pattern: "PATCH /api/v2/ssh-keys/{key}", do: updateSSHKey},
		{pattern: "DELETE /api/v2/ssh-keys/{key}", do: deleteSSHKey},
	}
}

// An sshKeyDoc is a key as it is shown: by its name.
type sshKeyDoc struct {
	ID   string `jsonapi:"primary,ssh-keys"`
	Name string `jsonapi:"attr,name"`
}

func newSSHKeyDoc(k postgres.SSHKey) *sshKeyDoc { return &sshKeyDoc{ID: k.ID, Name: k.Name} }

// An sshKeyChange is what a client wants of a key. The value is only ever new.
type sshKeyChange struct {
	ID    string  `jsonapi:"primary,ssh-keys"`
	Name  *string `jsonapi:"attr,name"`
	Value *string `jsonapi:"attr,value"`
}

func listSSHKeys(r *request) (answer, error) {
	p := r.paging()
	var docs []*sshKeyDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.home(v)
		if err != nil {
			return err
		}
		all, err := v.SSHKeys(r.Context(), r.who, o.ID)
		for _, k := range part(all, &p) {
			docs = append(docs, newSSHKeyDoc(k))
		}
		return err
	})
	return listed(docs, p), err
}

func createSSHKey(r *request) (answer, error) {
	var c sshKeyChange
	if err := r.decode(&c); err != nil {
		return answer{}, err
	}
	var o postgres.Organisation
	err := r.view(func(v *postgres.View) (err error) {
		o, err = r.home(v)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	k, err := r.control.CreateSSHKey(r.Context(), r.who, o.ID, value(c.Name), value(c.Value))
	return created(newSSHKeyDoc(k)), err
}

func readSSHKey(r *request) (answer, error) {
	var k postgres.SSHKey
	err := r.view(func(v *postgres.View) (err error) {
		k, err = v.SSHKey(r.Context(), r.who, r.PathValue("key"))
		return err
	})
	return ok(newSSHKeyDoc(k)), err
}

func updateSSHKey(r *request) (answer, error) {
	var c sshKeyChange
	if err := r.decode(&c); err != nil {
		return answer{}, err
	}
	if c.Name == nil {
		return readSSHKey(r)
	}
	var k postgres.SSHKey
	err := r.update(func(u *postgres.Update) (err error) {
		k, err = u.RenameSSHKey(r.Context(), r.who, r.PathValue("key"), *c.Name)
		return err
	})
	return ok(newSSHKeyDoc(k)), err
}

func deleteSSHKey(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.DeleteSSHKey(r.Context(), r.who, r.PathValue("key"))
	})
}

// A sshKeyRef points to a key with which modules are fetched.
type sshKeyRef struct {
	ID string `jsonapi:"primary,ssh-keys"`
}

func newSSHKeyRef(id string) *sshKeyRef {
	if id == "" {
		return nil
	}
	return &sshKeyRef{ID: id}
}

// assignSSHKey gives a workspace the key that the attribute id names, or none.
func assignSSHKey(r *request) (answer, error) {
	var wanted struct {
		Type string `jsonapi:"primary,workspaces"`
		Key  string `jsonapi:"attr,id"`
	}
	if err := r.decode(&wanted); err != nil {
		return answer{}, err
	}
	var doc *workspaceDoc
	err := r.update(func(u *postgres.Update) error {
		s, err := r.workspace(&u.View)
		if err != nil {
			return err
		}
		w, err := settingsOf(s)
		if err != nil {
			return err
		}
		if err := r.mayAssign(&u.View, s, wanted.Key); err != nil {
			return err
		}
		w.SSHKey = wanted.Key
		if s.Settings, err = json.Marshal(w); err != nil {
			return err
		}
		if _, err = u.ChangeStack(r.Context(), r.who, s); err != nil {
			return err
		}
		doc, err = r.retag(u, s, workspaceChange{})
		return err
	})
	return ok(doc), err
}

// mayAssign refuses a key that is of another organisation, or that the client may
// not see: with it runs would read what is not for them.
func (r *request) mayAssign(v *postgres.View, s postgres.Stack, key string) error {
	if key == "" {
		return nil
	}
	k, err := v.SSHKey(r.Context(), r.who, key)
	if err == nil && k.Organisation != s.Organisation {
		return noSuchThing()
	}
	return err
}
