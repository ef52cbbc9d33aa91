package postgres_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// TestCreateMember: a user is made by who administers the server and owns the
// organisation, and by nobody who does only one of both; the first token is theirs,
// and is kept nowhere (docs/identity.md, rule 18).
func TestCreateMember(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	stranger, _ := found(t, store, "neighbour") // administers the server
	grant(t, store, w.owner, w.member.ID, identity.Owner, w.org)
	make := func(who identity.Principal, n postgres.NewMember) (m postgres.Membership, token identity.Token, err error) {
		err = store.Update(t.Context(), func(u *postgres.Update) (err error) {
			m, token, err = u.CreateMember(t.Context(), who, w.org.Organisation, n)
			return err
		})
		return m, token, err
	}
	for name, refused := range map[string]struct {
		who  identity.Principal
		made postgres.NewMember
		want api.Code
	}{
		"an owner of the organisation": {w.member, postgres.NewMember{Name: "bob"}, api.Forbidden},
		"an administrator of the site": {stranger, postgres.NewMember{Name: "bob"}, api.NotFound},
		"an address":                   {w.owner, postgres.NewMember{Name: "bob@example.com"}, api.Invalid},
		"no name":                      {w.owner, postgres.NewMember{}, api.Invalid},
		"a name that is taken":         {w.owner, postgres.NewMember{Name: "MEMBER"}, api.Conflict},
		"a token that has ended":       {w.owner, postgres.NewMember{Name: "bob", Expires: time.Now().Add(-time.Hour)}, api.Invalid},
	} {
		if _, _, err := make(refused.who, refused.made); problem.Code(err) != refused.want {
			t.Errorf("%s: %v, want %s", name, err, refused.want)
		}
	}
	m, token, err := make(w.owner, postgres.NewMember{Name: "bob", Teams: []string{w.team}, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "bob" || m.Invited() || !slices.Equal(m.Teams, []string{w.team}) {
		t.Errorf("%+v", m)
	}
	bob, err := store.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if bob.ID != m.User || bob.Name != "bob" {
		t.Errorf("the token is of %+v", bob)
	}
	for _, table := range []string{"tokens", "audit_entries", "river_job"} {
		if n := count(t, conn, "SELECT count(*) FROM "+table+" x WHERE x::text LIKE '%' || $1 || '%'", token.Reveal()[9:30]); n != 0 {
			t.Errorf("%s holds the token", table)
		}
	}
	log := entries(t, store, w.owner, w.org.Organisation)
	if last := log[len(log)-2]; last.Action != "membership:create" || last.Principal != w.owner || last.Object != bob.ID {
		t.Errorf("the entry is %+v", last)
	}
}

// TestStanding: what somebody is shown of their roles is what they have, and what they
// are shown of others' is what they may see (docs/identity.md, rule 19).
func TestStanding(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	at := identity.Scope{Organisation: w.stack.Organisation, Project: w.stack.Project, Stack: w.stack.ID}
	places := []identity.Scope{w.org, w.project, {Organisation: at.Organisation, Project: at.Project}, at}
	users := []identity.Principal{w.member, register(t, store, "ann"), register(t, store, "bob")}
	holders := []string{w.team, users[0].ID, users[1].ID, users[2].ID}
	rapid.Check(t, func(rt *rapid.T) {
		holder := rapid.SampledFrom(holders).Draw(rt, "holder")
		g := identity.Grant{Role: rapid.SampledFrom(identity.Roles()).Draw(rt, "role"), Scope: rapid.SampledFrom(places).Draw(rt, "place")}
		who, asked := rapid.SampledFrom(users).Draw(rt, "who"), rapid.SampledFrom(places).Draw(rt, "asked")
		in := rapid.Bool().Draw(rt, "in the team")
		update(t, store, func(u *postgres.Update) error {
			if in {
				return u.AddMember(t.Context(), w.owner, w.team, who.ID)
			}
			return u.RemoveMember(t.Context(), w.owner, w.team, who.ID)
		})
		err := store.Update(t.Context(), func(u *postgres.Update) error {
			if rapid.IntRange(0, 3).Draw(rt, "take") > 0 {
				return u.Revoke(t.Context(), w.owner, holder, g)
			}
			return u.Grant(t.Context(), w.owner, holder, g)
		})
		if err != nil && problem.Code(err) != api.NotFound { // there was nothing to take
			rt.Fatal(err)
		}
		view(t, store, func(v *postgres.View) error {
			own, err := v.OwnGrants(t.Context(), who)
			if err != nil {
				return err
			}
			standing, err := v.Standing(t.Context(), who)
			if err != nil {
				return err
			}
			if diff := gocmp.Diff(sorted(own), sorted(grantsOf(standing))); diff != "" {
				rt.Fatalf("what is shown is not what they have:\n%s", diff)
			}
			everything, err := v.Grants(t.Context(), w.owner, asked)
			if err != nil {
				return err
			}
			seen, err := v.Grants(t.Context(), who, asked)
			if err != nil && identity.Allowed(own, word(asked), asked) {
				rt.Fatalf("%+v may see %+v: %v", own, asked, err)
			}
			want := slices.DeleteFunc(everything, func(s postgres.Standing) bool {
				return !identity.Allowed(own, word(asked), asked) || !identity.Allowed(own, word(s.Scope), s.Scope)
			})
			if diff := gocmp.Diff(sorted(grantsOf(want)), sorted(grantsOf(seen))); diff != "" {
				rt.Fatalf("of others they are shown:\n%s", diff)
			}
			return nil
		})
	})
}

// word is the permission to see a place.
func word(at identity.Scope) identity.Permission {
	switch at.Level() {
	case identity.Stack:
		return identity.StackRead
	case identity.Project:
		return identity.ProjectRead
	}
	return identity.OrganisationRead
}

func grantsOf(all []postgres.Standing) []identity.Grant {
	grants := []identity.Grant{}
	for _, s := range all {
		grants = append(grants, s.Grant)
	}
	return grants
}

func sorted(grants []identity.Grant) []identity.Grant {
	return slices.SortedFunc(slices.Values(grants), func(a, b identity.Grant) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}
