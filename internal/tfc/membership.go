package tfc

import (
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/postgres"
)

func memberships() []route {
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/organization-memberships", do: listMemberships},
		{pattern: "POST /api/v2/organizations/{organisation}/organization-memberships", do: createMembership},
		{pattern: "GET /api/v2/organization-memberships/{membership}", do: readMembership},
		{pattern: "DELETE /api/v2/organization-memberships/{membership}", do: deleteMembership},
	}
}

// A membershipDoc is somebody's place in an organisation.
type membershipDoc struct {
	ID           string           `jsonapi:"primary,organization-memberships"`
	Status       string           `jsonapi:"attr,status"`
	Email        string           `jsonapi:"attr,email"`
	Organisation *organisationDoc `jsonapi:"relation,organization"`
	User         *userDoc         `jsonapi:"relation,user"`
	Teams        []*teamDoc       `jsonapi:"relation,teams"`
}

func newMembershipDoc(m postgres.Membership, organisation string) *membershipDoc {
	d := &membershipDoc{ID: m.ID, Status: "active", Email: m.Email, Organisation: &organisationDoc{ID: organisation, Name: organisation}, User: newMemberDoc(m)}
	if m.Invited() {
		d.Status = "invited"
	}
	for _, id := range m.Teams {
		d.Teams = append(d.Teams, &teamDoc{ID: id})
	}
	return d
}

// newMemberDoc is a member as other members see them. Clients want a user even
// where nobody has taken the invitation over: it has the id of the membership.
func newMemberDoc(m postgres.Membership) *userDoc {
	if m.Invited() {
		return &userDoc{ID: m.ID, Email: m.Email, Avatar: avatar}
	}
	return &userDoc{ID: m.User, Username: m.Name, Email: m.Email, Avatar: avatar}
}

// membershipDoc is a membership of an organisation as the client sees it. Its teams
// are whole if the client wants them in the same answer.
func (r *request) membershipDoc(v *postgres.View, m postgres.Membership, organisation string) (*membershipDoc, error) {
	d := newMembershipDoc(m, organisation)
	if !slices.Contains(r.include(), "teams") {
		return d, nil
	}
	grants, err := v.OwnGrants(r.Context(), r.who)
	if err != nil {
		return nil, err
	}
	for i, team := range d.Teams {
		t, err := v.Team(r.Context(), r.who, team.ID)
		if err != nil {
			return nil, err
		}
		if d.Teams[i], err = newTeamDoc(t, organisation, grants); err != nil {
			return nil, err
		}
		d.Teams[i].Memberships = nil // of them only this one is asked for
	}
	return d, nil
}

func listMemberships(r *request) (answer, error) {
	if err := r.checkInclude("user", "teams", "organization"); err != nil {
		return answer{}, err
	}
	p := r.paging()
	var docs []*membershipDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.organisation(v)
		if err != nil {
			return err
		}
		all, err := v.Memberships(r.Context(), r.who, o.ID)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(m postgres.Membership) bool { return !r.wantsMembership(m) })
		docs, err = each(part(all, &p), func(m postgres.Membership) (*membershipDoc, error) { return r.membershipDoc(v, m, o.Name) })
		return err
	})
	return listed(docs, p), err
}

// wantsMembership reports whether a membership is one of those that the client asks for.
func (r *request) wantsMembership(m postgres.Membership) bool {
	q := r.URL.Query()
	emails, status := q.Get("filter[email]"), q.Get("filter[status]")
	return (contains(m.Name, q.Get("q")) || contains(m.Email, q.Get("q"))) &&
		(emails == "" || slices.ContainsFunc(strings.Split(emails, ","), func(e string) bool { return strings.EqualFold(e, m.Email) })) &&
		(status == "" || (status == "invited") == m.Invited())
}

func createMembership(r *request) (answer, error) {
	var wanted struct {
		ID    string     `jsonapi:"primary,organization-memberships"`
		Email *string    `jsonapi:"attr,email"`
		Teams []*teamRef `jsonapi:"relation,teams"`
	}
	if err := r.decode(&wanted); err != nil {
		return answer{}, err
	}
	if err := must(wanted.Email, "email"); err != nil {
		return answer{}, err
	}
	var teams []string
	for _, t := range wanted.Teams {
		teams = append(teams, t.ID)
	}
	var doc *membershipDoc
	err := r.update(func(u *postgres.Update) error {
		o, err := r.organisation(&u.View)
		if err != nil {
			return err
		}
		m, err := u.Invite(r.Context(), r.who, o.ID, *wanted.Email, teams)
		if err != nil {
			return err
		}
		doc, err = r.membershipDoc(&u.View, m, o.Name)
		return err
	})
	a := created(doc)
	a.with = []string{"user"}
	return a, err
}

func readMembership(r *request) (answer, error) {
	if err := r.checkInclude("user", "teams", "organization"); err != nil {
		return answer{}, err
	}
	var doc *membershipDoc
	err := r.view(func(v *postgres.View) error {
		m, err := v.Membership(r.Context(), r.who, r.PathValue("membership"))
		if err != nil {
			return err
		}
		o, err := v.HomeOf(r.Context(), r.who, m.Organisation)
		if err != nil {
			return err
		}
		doc, err = r.membershipDoc(v, m, o.Name)
		return err
	})
	return ok(doc), err
}

func deleteMembership(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.RemoveMembership(r.Context(), r.who, r.PathValue("membership"))
	})
}
