package tfc

import (
	"encoding/json"
	"errors"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func locks() []route {
	const actions = "/api/v2/workspaces/{workspace}/actions/"
	return []route{
		{pattern: "POST " + actions + "lock", do: lockWorkspace},
		{pattern: "POST " + actions + "unlock", do: unlockWorkspace},
		{pattern: "POST " + actions + "force-unlock", do: forceUnlockWorkspace},
	}
}

// A lockedBy is who holds a lock: one of these.
type lockedBy struct {
	Run  *lockingRun
	User *lockingUser
	Team *lockingTeam
}

type (
	lockingRun struct {
		ID string `jsonapi:"primary,runs"`
	}
	lockingUser struct {
		ID       string `jsonapi:"primary,users"`
		Username string `jsonapi:"attr,username"`
	}
	lockingTeam struct {
		ID string `jsonapi:"primary,teams"`
	}
)

// newLockedBy is nil for no lock. The token of an organisation counts as a user: there is
// no other word for it.
func newLockedBy(l *postgres.Lock) *lockedBy {
	switch {
	case l == nil:
		return nil
	case l.Holder.Kind == identity.Runner:
		return &lockedBy{Run: &lockingRun{ID: l.Holder.ID}}
	case l.Team != "":
		return &lockedBy{Team: &lockingTeam{ID: l.Team}}
	}
	return &lockedBy{User: &lockingUser{ID: l.Holder.ID, Username: l.Holder.Name}}
}

// lockReason reads what the clients send to lock a workspace: a document whose type
// is empty, or nothing.
func (r *request) lockReason() (string, error) {
	data, err := r.body(bodyMax)
	if err != nil || len(data) == 0 {
		return "", err
	}
	var doc struct {
		Data struct {
			Type       string `json:"type"`
			Attributes struct {
				Reason string `json:"reason"`
			} `json:"attributes"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return "", notOfType(err, "workspaces")
	}
	if doc.Data.Type != "" && doc.Data.Type != "workspaces" {
		return "", notOfType(errors.New("another type"), "workspaces")
	}
	return doc.Data.Attributes.Reason, nil
}

func lockWorkspace(r *request) (answer, error) {
	reason, err := r.lockReason()
	if err != nil {
		return answer{}, err
	}
	return r.changeLock(func(u *postgres.Update, stack string) error {
		_, err := u.LockStack(r.Context(), r.who, stack, postgres.LockRequest{Reason: reason})
		return err
	})
}

func unlockWorkspace(r *request) (answer, error) {
	return r.changeLock(func(u *postgres.Update, stack string) error {
		return u.UnlockStack(r.Context(), r.who, stack, "")
	})
}

func forceUnlockWorkspace(r *request) (answer, error) {
	return r.changeLock(func(u *postgres.Update, stack string) error {
		_, err := u.ForceUnlock(r.Context(), r.who, stack, "")
		return err
	})
}

// changeLock answers the workspace as it is after the change.
func (r *request) changeLock(fn func(u *postgres.Update, stack string) error) (answer, error) {
	var doc *workspaceDoc
	stack := r.PathValue("workspace")
	err := r.control.UpdateStack(r.Context(), stack, func(u *postgres.Update) error {
		if err := fn(u, stack); err != nil {
			return err
		}
		var err error
		doc, err = r.lockedDoc(&u.View, stack)
		return err
	})
	return ok(doc), err
}

// lockedDoc is the workspace, in few questions: others of the organisation wait.
func (r *request) lockedDoc(v *postgres.View, stack string) (*workspaceDoc, error) {
	x, err := v.Setting(r.Context(), r.who, stack)
	if err != nil {
		return nil, err
	}
	docs, err := r.workspaceDocs(v, x.Organisation, []postgres.Stack{x.Stack})
	if err != nil {
		return nil, err
	}
	d := docs[0]
	if x.Configuration != "" {
		d.Configuration = &configurationRef{ID: x.Configuration}
	}
	for _, id := range x.Variables {
		d.Variables = append(d.Variables, &variableRef{ID: id})
	}
	return d, nil
}
