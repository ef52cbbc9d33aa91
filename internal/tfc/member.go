package tfc

import (
	"context"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func members() []route {
	const users, memberships = "/api/v2/teams/{team}/relationships/users", "/api/v2/teams/{team}/relationships/organization-memberships"
	return []route{
		{pattern: "POST " + users, do: addUsers},
		{pattern: "DELETE " + users, do: removeUsers},
		{pattern: "POST " + memberships, do: addMemberships},
		{pattern: "DELETE " + memberships, do: removeMemberships},
	}
}

// A changeMembers changes who is in a team: [postgres.Update.AddMemberships] or the
// one that takes them out.
type changeMembers func(u *postgres.Update, ctx context.Context, who identity.Principal, team string, memberships []string) error

func addUsers(r *request) (answer, error) { return r.changeUsers((*postgres.Update).AddMemberships) }
func removeUsers(r *request) (answer, error) {
	return r.changeUsers((*postgres.Update).RemoveMemberships)
}

// changeUsers takes the names of users who are members of the organisation. Anybody
// else's name is that of nobody: who is known to the server is not for an
// organisation to ask.
func (r *request) changeUsers(do changeMembers) (answer, error) {
	wanted, err := r.references("users")
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		t, err := r.team(&u.View)
		if err != nil {
			return err
		}
		all, err := u.Memberships(r.Context(), r.who, t.Organisation)
		if err != nil {
			return err
		}
		ids := map[string]string{}
		for _, m := range all {
			if !m.Invited() {
				ids[m.Name], ids[m.User] = m.ID, m.ID
			}
		}
		var found []string
		for _, name := range wanted {
			id, ok := ids[name]
			if !ok {
				return noSuchThing()
			}
			found = append(found, id)
		}
		return do(u, r.Context(), r.who, t.ID, found)
	})
}

func addMemberships(r *request) (answer, error) {
	return r.changeMemberships((*postgres.Update).AddMemberships)
}

func removeMemberships(r *request) (answer, error) {
	return r.changeMemberships((*postgres.Update).RemoveMemberships)
}

func (r *request) changeMemberships(do changeMembers) (answer, error) {
	wanted, err := r.references("organization-memberships")
	if err != nil {
		return answer{}, err
	}
	return noContent(), r.update(func(u *postgres.Update) error {
		t, err := r.team(&u.View)
		if err != nil {
			return err
		}
		return do(u, r.Context(), r.who, t.ID, wanted)
	})
}
