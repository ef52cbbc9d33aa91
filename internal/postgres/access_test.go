package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// teamNamed is the team of an organisation with this name.
func teamNamed(t *testing.T, store *postgres.Store, who identity.Principal, organisation, name string) postgres.Team {
	t.Helper()
	var found postgres.Team
	view(t, store, func(v *postgres.View) error {
		teams, err := v.Teams(t.Context(), who, organisation)
		for _, team := range teams {
			if team.Name == name {
				found = team
			}
		}
		return err
	})
	return found
}

// access is what the team of a world may at its stack.
func (w world) access(role identity.Role) postgres.Access {
	at := identity.Scope{Organisation: w.stack.Organisation, Project: w.stack.Project, Stack: w.stack.ID}
	return postgres.Access{Holding: postgres.Holding{Holder: w.team, Grant: identity.Grant{Role: role, Scope: at}}}
}

func (w world) accessCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	org, reader := w.org.Organisation, w.access(identity.Reader)
	return map[string]func(*postgres.Update) error{
		"Team":        func(u *postgres.Update) error { _, err := u.Team(ctx, who, w.team); return err },
		"ChangeTeam":  func(u *postgres.Update) error { return u.ChangeTeam(ctx, who, w.team, "new", json.RawMessage(`{}`)) },
		"Memberships": func(u *postgres.Update) error { _, err := u.Memberships(ctx, who, org); return err },
		"Membership":  func(u *postgres.Update) error { _, err := u.Membership(ctx, who, w.membership); return err },
		"Invite": func(u *postgres.Update) error {
			_, err := u.Invite(ctx, who, org, "somebody@example.com", []string{w.team})
			return err
		},
		"CreateMember": func(u *postgres.Update) error {
			_, _, err := u.CreateMember(ctx, who, org, postgres.NewMember{Name: "new", Teams: []string{w.team}})
			return err
		},
		"RemoveMembership":  func(u *postgres.Update) error { return u.RemoveMembership(ctx, who, w.membership) },
		"AddMemberships":    func(u *postgres.Update) error { return u.AddMemberships(ctx, who, w.team, []string{w.membership}) },
		"RemoveMemberships": func(u *postgres.Update) error { return u.RemoveMemberships(ctx, who, w.team, []string{w.membership}) },
		"Access":            func(u *postgres.Update) error { _, err := u.Access(ctx, who, w.given); return err },
		"Accesses":          func(u *postgres.Update) error { _, err := u.Accesses(ctx, who, reader.Scope); return err },
		"AddAccess": func(u *postgres.Update) error {
			there := reader
			there.Scope = w.project
			_, err := u.AddAccess(ctx, who, there)
			return err
		},
		"PutAccess":    func(u *postgres.Update) error { _, err := u.PutAccess(ctx, who, reader); return err },
		"RemoveAccess": func(u *postgres.Update) error { return u.RemoveAccess(ctx, who, w.given) },
		"Token":        func(u *postgres.Update) error { _, err := u.Token(ctx, who, w.token); return err },
		"TeamTokens":   func(u *postgres.Update) error { _, err := u.TeamTokens(ctx, who, org); return err },
	}
}

// TestOwnerOfAccess: all calls about access are done for an owner.
func TestOwnerOfAccess(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	for name, do := range w.accessCalls(t.Context(), w.owner) {
		err := store.Update(t.Context(), func(u *postgres.Update) error { return errors.Join(do(u), errUndo) })
		if err == nil || err.Error() != errUndo.Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var errUndo = errors.New("undo it")

// TestSite: a site administrator makes organisations, appoints others and reads the
// chain of what is of none, and nobody else does (docs/identity.md, rule 10).
func TestSite(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	admin, org := found(t, store, "acme")
	other := register(t, store, "other")
	team := postgres.TokenRequest{Owner: teamNamed(t, store, admin, org.Organisation, "owners").ID}
	var token identity.Credential
	update(t, store, func(u *postgres.Update) (err error) {
		_, token, err = u.CreateToken(t.Context(), admin, team)
		return err
	})
	for name, who := range map[string]identity.Principal{
		"a user": other, "a token of an administrator's team": token.Principal(""), "nobody": {},
		"a token with the id of an administrator": {Kind: identity.Bearer, ID: admin.ID}, "a job": {Kind: identity.Job, ID: admin.ID},
	} {
		for what, do := range map[string]func(*postgres.Update) error{
			"makes an organisation":     func(u *postgres.Update) error { _, err := u.CreateOrganisation(t.Context(), who, "own"); return err },
			"appoints an administrator": func(u *postgres.Update) error { return u.Appoint(t.Context(), who, other.ID, true) },
			"asks who administers":      func(u *postgres.Update) error { _, err := u.Administrators(t.Context(), who); return err },
			"dismisses one":             func(u *postgres.Update) error { return u.Appoint(t.Context(), who, admin.ID, false) },
			"reads the server's chain": func(u *postgres.Update) (err error) {
				for _, err = range u.Audit(t.Context(), who, "") {
					break
				}
				return err
			},
		} {
			if err := store.Update(t.Context(), do); problem.Code(err) != api.Forbidden {
				t.Errorf("%s %s: %v", name, what, err)
			}
		}
	}
	log := entries(t, store, admin, "")
	if last := log[len(log)-1]; last.Outcome != "forbidden" || last.Detail["permission"] != "site:admin" {
		t.Errorf("the last entry of the server's chain is %+v", last)
	}
	if err := identity.Verify(slices.Values(log)); err != nil {
		t.Error(err)
	}
	second, neighbour := found(t, store, "neighbour")
	err := store.View(t.Context(), func(v *postgres.View) error {
		_, err := v.Teams(t.Context(), admin, neighbour.Organisation)
		return err
	})
	if problem.Code(err) != api.NotFound {
		t.Errorf("a site administrator in somebody else's organisation: %v", err)
	}
	update(t, store, func(u *postgres.Update) error { return u.Appoint(t.Context(), admin, second.ID, false) })
	err = store.Update(t.Context(), func(u *postgres.Update) error { return u.Appoint(t.Context(), admin, admin.ID, false) })
	if problem.Code(err) != api.Conflict {
		t.Errorf("the last site administrator was dismissed: %v", err)
	}
	update(t, store, func(u *postgres.Update) error { return u.Appoint(t.Context(), admin, other.ID, true) })
	update(t, store, func(u *postgres.Update) error { return u.Appoint(t.Context(), other, admin.ID, false) })
	if err := store.View(t.Context(), func(v *postgres.View) error {
		for _, err := range v.Audit(t.Context(), admin, "") {
			return err
		}
		return nil
	}); problem.Code(err) != api.Forbidden {
		t.Errorf("who was dismissed reads on: %v", err)
	}
}

// TestInvitation: a membership waits for whoever proves the address, and is nobody's
// until then (docs/identity.md, rules 11 and 12).
func TestInvitation(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	grant(t, store, w.owner, w.team, identity.Maintainer, w.org)
	update(t, store, func(u *postgres.Update) error {
		_, err := u.Invite(t.Context(), w.owner, w.org.Organisation, "Ann@Example.com", []string{w.team})
		return err
	})
	err := store.Update(t.Context(), func(u *postgres.Update) error {
		_, err := u.Invite(t.Context(), w.owner, w.org.Organisation, "ann@example.COM", nil)
		return err
	})
	if problem.Code(err) != api.Conflict || !strings.Contains(err.Error(), "invited already") {
		t.Errorf("a second invitation: %v", err)
	}
	ann := register(t, store, "ann")
	may := func() bool {
		err := store.View(t.Context(), func(v *postgres.View) error { _, err := v.Project(t.Context(), ann, w.project.Project); return err })
		return err == nil
	}
	update(t, store, func(u *postgres.Update) error { return u.ChangeUser(t.Context(), ann, "ann", "ann@example.com") })
	if may() {
		t.Error("who only says that the address is theirs has the invitation")
	}
	update(t, store, func(u *postgres.Update) error {
		_, err := u.Invite(t.Context(), w.owner, w.org.Organisation, "kelly@example.com", []string{w.team})
		return err
	})
	for _, address := range []string{"x@example.com\n", "\u212aelly@example.com", "Kelly <kelly@example.com>", "kelly@example.com,ann@example.com"} {
		err := store.Update(t.Context(), func(u *postgres.Update) error { return u.ConfirmEmail(t.Context(), w.member, address) })
		if problem.Code(err) != api.Invalid {
			t.Errorf("the address %q: %v", address, err)
		}
	}
	update(t, store, func(u *postgres.Update) error { return u.ConfirmEmail(t.Context(), ann, "ANN@example.com") })
	if !may() {
		t.Fatal("who has proved the address has no invitation")
	}
	members := func() []postgres.Membership {
		var all []postgres.Membership
		view(t, store, func(v *postgres.View) (err error) {
			all, err = v.Memberships(t.Context(), w.owner, w.org.Organisation)
			return err
		})
		return slices.DeleteFunc(all, func(m postgres.Membership) bool { return m.User != ann.ID })
	}
	if got := members(); len(got) != 1 || got[0].Email != "ann@example.com" || !slices.Contains(got[0].Teams, w.team) {
		t.Errorf("the memberships are %+v", got)
	}
	// Who is a member already gets what the next invitation holds, and has one membership.
	var second postgres.Team
	update(t, store, func(u *postgres.Update) (err error) {
		if second, err = u.CreateTeam(t.Context(), w.owner, w.org.Organisation, "second"); err != nil {
			return err
		}
		_, err = u.Invite(t.Context(), w.owner, w.org.Organisation, "ann@example.com", []string{second.ID, w.team})
		return err
	})
	update(t, store, func(u *postgres.Update) error { return u.ConfirmEmail(t.Context(), ann, "ann@example.com") })
	got := members()
	if len(got) != 1 || !slices.Contains(got[0].Teams, second.ID) || !slices.Contains(got[0].Teams, w.team) {
		t.Fatalf("the memberships are %+v", got)
	}
	// With the membership goes everything.
	grant(t, store, w.owner, ann.ID, identity.Maintainer, w.project)
	update(t, store, func(u *postgres.Update) error { return u.RemoveMembership(t.Context(), w.owner, got[0].ID) })
	if may() || len(members()) != 0 {
		t.Error("who is no member any more still has a role")
	}
	if err := identity.Verify(slices.Values(entries(t, store, w.owner, w.org.Organisation))); err != nil {
		t.Error(err)
	}
}

// TestOtherOrganisation: nothing of one organisation can be brought into another.
func TestOtherOrganisation(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	owner, org := found(t, store, "neighbour")
	team := teamNamed(t, store, owner, org.Organisation, "owners")
	for name, do := range map[string]func(*postgres.Update) error{
		"a member": func(u *postgres.Update) error {
			return u.AddMemberships(t.Context(), owner, team.ID, []string{w.membership})
		},
		"an invitation to a team": func(u *postgres.Update) error {
			_, err := u.Invite(t.Context(), owner, org.Organisation, "x@example.com", []string{w.team})
			return err
		},
		"a user in a team": func(u *postgres.Update) error {
			_, _, err := u.CreateMember(t.Context(), owner, org.Organisation, postgres.NewMember{Name: "new", Teams: []string{w.team}})
			return err
		},
		"a team by its role": func(u *postgres.Update) error {
			return u.Grant(t.Context(), owner, w.team, identity.Grant{Role: identity.Reader, Scope: org})
		},
		"a token by its role": func(u *postgres.Update) error {
			return u.Grant(t.Context(), owner, w.token, identity.Grant{Role: identity.Reader, Scope: org})
		},
		"a team": func(u *postgres.Update) error {
			a := postgres.Access{Holding: postgres.Holding{Holder: w.team, Grant: identity.Grant{Role: identity.Reader, Scope: org}}}
			_, err := u.PutAccess(t.Context(), owner, a)
			return err
		},
		"a stack": func(u *postgres.Update) error {
			a := w.access(identity.Reader)
			a.Holder = team.ID
			_, err := u.AddAccess(t.Context(), owner, a)
			return err
		},
	} {
		if err := store.Update(t.Context(), do); problem.Code(err) != api.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFlagsWithoutRole: what is kept of flags that come to no role gives nothing, and
// a role given in its place ends it.
func TestFlagsWithoutRole(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	a := w.access("")
	a.Level, a.Flags = "custom", json.RawMessage(`{"runs": "read"}`)
	update(t, store, func(u *postgres.Update) (err error) {
		if a, err = u.PutAccess(t.Context(), w.owner, a); err != nil {
			return err
		}
		return u.AddMember(t.Context(), w.owner, w.team, w.member.ID)
	})
	sees := func() error {
		return store.View(t.Context(), func(v *postgres.View) error { _, err := v.Stack(t.Context(), w.member, w.stack.ID); return err })
	}
	if err := sees(); problem.Code(err) != api.NotFound {
		t.Errorf("flags without a role let somebody see the stack: %v", err)
	}
	grant(t, store, w.owner, w.team, identity.Reader, a.Scope)
	if err := sees(); err != nil {
		t.Errorf("a reader sees nothing: %v", err)
	}
	view(t, store, func(v *postgres.View) error {
		got, err := v.Access(t.Context(), w.owner, a.ID)
		if got.Level != "" || got.Flags != nil || got.Role != identity.Reader {
			t.Errorf("the flags are still there: %+v", got)
		}
		return err
	})
}

// TestUsed: when a token was used is known to the minute and written as rarely, by
// nothing that could disturb what it is used for (docs/identity.md, rule 16).
func TestUsed(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	var token identity.Token
	var made identity.Credential
	update(t, store, func(u *postgres.Update) (err error) {
		token, made, err = u.CreateToken(t.Context(), w.owner, postgres.TokenRequest{Owner: w.owner.ID})
		return err
	})
	use := func() time.Time {
		t.Helper()
		if _, err := store.Authenticate(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		view(t, store, func(v *postgres.View) (err error) { made, err = v.Token(t.Context(), w.owner, made.ID); return err })
		return made.Used
	}
	if !made.Used.IsZero() {
		t.Errorf("it was used at %v before anybody had it", made.Used)
	}
	first := use()
	if first.IsZero() || !use().Equal(first) {
		t.Errorf("used at %v, then at %v", first, made.Used)
	}
	execute(t, conn, "UPDATE tokens SET last_used_at = last_used_at - interval '61 seconds'")
	if again := use(); again.Before(first) {
		t.Errorf("used again, and it is still %v", again)
	}
}

// TestOwnUser: users change themselves and nobody else, and take no name that is
// somebody else's address (docs/identity.md, rule 12).
func TestOwnUser(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	ann, bob := register(t, store, "ann"), register(t, store, "bob")
	update(t, store, func(u *postgres.Update) error { return u.ConfirmEmail(t.Context(), ann, "ann@example.com") })
	for name, want := range map[string]api.Code{
		"Ann Other": "", "ANN@example.com": "", "bob@example.com": api.Invalid, "@": api.Invalid, "bob": api.Conflict, "": api.Invalid, "a\nb": api.Invalid,
	} {
		err := store.Update(t.Context(), func(u *postgres.Update) error { return u.ChangeUser(t.Context(), ann, name, "") })
		if err == nil && want != "" || err != nil && problem.Code(err) != want {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	for what, who := range map[string]identity.Principal{
		"a token with the id of a user": {Kind: identity.Bearer, ID: bob.ID}, "nobody": {}, "somebody who is none": postgres.NewUser("x"), "the server": postgres.Server(),
	} {
		for name, do := range map[string]func(*postgres.Update) error{
			"reads":             func(u *postgres.Update) error { _, err := u.User(t.Context(), who); return err },
			"changes":           func(u *postgres.Update) error { return u.ChangeUser(t.Context(), who, "new", "") },
			"has an address of": func(u *postgres.Update) error { return u.ConfirmEmail(t.Context(), who, "x@example.com") },
		} {
			if err := store.Update(t.Context(), do); problem.Code(err) != api.NotFound {
				t.Errorf("%s %s a user: %v", what, name, err)
			}
		}
	}
}

// TestHostileAccess: what stands in what somebody sends is refused as such, never
// with an error of ours.
func TestHostileAccess(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	ctx := t.Context()
	for _, text := range []string{"", "\x00", "a\x00b", "\xff\xfe", "'; DROP TABLE users; --", strings.Repeat("x", 1<<20), "../../etc", "a@b\x00", "@", w.team + "\x00"} {
		for name, do := range map[string]func(*postgres.Update) error{
			"team's name": func(u *postgres.Update) error { return u.ChangeTeam(ctx, w.owner, w.team, text, json.RawMessage(`{}`)) },
			"team":        func(u *postgres.Update) error { _, err := u.Team(ctx, w.owner, text); return err },
			"settings": func(u *postgres.Update) error {
				return u.ChangeTeam(ctx, w.owner, w.team, "name", json.RawMessage(`"`+text+`"`))
			},
			"address": func(u *postgres.Update) error {
				_, err := u.Invite(ctx, w.owner, w.org.Organisation, text, nil)
				return err
			},
			"confirmed":   func(u *postgres.Update) error { return u.ConfirmEmail(ctx, w.owner, text) },
			"own name":    func(u *postgres.Update) error { return u.ChangeUser(ctx, w.owner, text+"\x00", "") },
			"own address": func(u *postgres.Update) error { return u.ChangeUser(ctx, w.owner, "name", text+"\x00") },
			"team of an invitation": func(u *postgres.Update) error {
				_, err := u.Invite(ctx, w.owner, w.org.Organisation, "x@example.com", []string{text})
				return err
			},
			"membership": func(u *postgres.Update) error { return u.AddMemberships(ctx, w.owner, w.team, []string{text}) },
			"access":     func(u *postgres.Update) error { return u.RemoveAccess(ctx, w.owner, text) },
			"level": func(u *postgres.Update) error {
				a := w.access(identity.Reader)
				a.Level = text + "!"
				_, err := u.PutAccess(ctx, w.owner, a)
				return err
			},
			"flags": func(u *postgres.Update) error {
				a := w.access("")
				a.Level, a.Flags = "custom", json.RawMessage(text+"[]")
				_, err := u.PutAccess(ctx, w.owner, a)
				return err
			},
			"token": func(u *postgres.Update) error { _, err := u.Token(ctx, w.owner, text); return err },
			"user":  func(u *postgres.Update) error { return u.Appoint(ctx, postgres.Server(), text, true) },
		} {
			err := store.Update(ctx, do)
			if code := problem.Code(err); err == nil || code != api.Invalid && code != api.NotFound {
				t.Errorf("%s %.20q: %v (%s)", name, text, err, code)
			}
		}
	}
}
