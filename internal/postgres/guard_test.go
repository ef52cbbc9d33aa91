package postgres_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// A world is one of everything, of one organisation.
type world struct {
	owner, member identity.Principal
	org, project  identity.Scope
	stack         postgres.Stack
	team, token   string
	tag           string
	version       string // of the stack's state
	refused       string // what was refused of it
	grave         string // id of a stack that was deleted with a state
	membership    string // an invitation
	given         string // what the team may at the stack
	parts
	deposits map[postgres.DepositKind]postgres.Deposit // one of each kind
}

func newWorld(t *testing.T, store *postgres.Store) world {
	t.Helper()
	w := world{member: register(t, store, "member")}
	w.owner, w.org = found(t, store, "acme")
	w.project = project(t, store, w.owner, w.org.Organisation, "one")
	update(t, store, func(u *postgres.Update) error {
		team, err := u.CreateTeam(t.Context(), w.owner, w.org.Organisation, "the team")
		if err != nil {
			return err
		}
		w.team = team.ID
		_, made, err := u.CreateToken(t.Context(), w.owner, postgres.TokenRequest{Owner: w.team, Description: "for CI"})
		if err != nil {
			return err
		}
		w.token = made.ID
		home, err := u.CreateProject(t.Context(), w.owner, w.org.Organisation, "of stacks")
		if err != nil {
			return err
		}
		if w.stack, err = u.CreateStack(t.Context(), w.owner, postgres.Stack{Project: home.ID, Name: "network"}); err != nil {
			return err
		}
		if err := u.AddTags(t.Context(), w.owner, w.stack.ID, []postgres.Tag{{Key: "app"}}); err != nil {
			return err
		}
		if w.stack, err = u.Stack(t.Context(), w.owner, w.stack.ID); err != nil {
			return err
		}
		w.tag = w.stack.Tags[0].ID
		invited, err := u.Invite(t.Context(), w.owner, w.org.Organisation, "invited@example.com", nil)
		if err != nil {
			return err
		}
		w.membership = invited.ID
		given, err := u.AddAccess(t.Context(), w.owner, w.access(identity.Planner))
		if err != nil {
			return err
		}
		w.given = given.ID
		if err := w.written(t.Context(), u); err != nil {
			return err
		}
		return w.deposit(t.Context(), u)
	})
	w.parts = newParts(t, store, w)
	return w
}

// calls is every method of View and Update that somebody could call, each with
// arguments with which an owner would succeed.
func (w world) calls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	all := map[string]func(*postgres.Update) error{}
	maps.Copy(all, w.identityCalls(ctx, who))
	maps.Copy(all, w.stackCalls(ctx, who))
	maps.Copy(all, w.tagCalls(ctx, who))
	maps.Copy(all, w.variableCalls(ctx, who))
	maps.Copy(all, w.agentCalls(ctx, who))
	maps.Copy(all, w.configurationCalls(ctx, who))
	maps.Copy(all, w.stateCalls(ctx, who))
	maps.Copy(all, w.auditPageCalls(ctx, who))
	maps.Copy(all, w.adoptCalls(ctx, who))
	maps.Copy(all, w.accessCalls(ctx, who))
	all["DeleteOrganisation"] = func(u *postgres.Update) error { return u.DeleteOrganisation(ctx, who, w.org.Organisation) }
	maps.Copy(all, w.depositCalls(ctx, who))
	return all
}

func (w world) stackCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	return map[string]func(*postgres.Update) error{
		"Stack": func(u *postgres.Update) error { _, err := u.Stack(ctx, who, w.stack.ID); return err },
		"StackByName": func(u *postgres.Update) error {
			_, err := u.StackByName(ctx, who, w.org.Organisation, "Network")
			return err
		},
		"ChangeStack": func(u *postgres.Update) error { _, err := u.ChangeStack(ctx, who, w.stack); return err },
		"DeleteStack": func(u *postgres.Update) error { return u.DeleteStack(ctx, who, w.stack.ID, false) },
		"CreateStack": func(u *postgres.Update) error {
			_, err := u.CreateStack(ctx, who, postgres.Stack{Project: w.project.Project, Name: "second"})
			return err
		},
	}
}

func (w world) identityCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	org := w.org.Organisation
	reader := identity.Grant{Role: identity.Reader, Scope: w.org}
	return map[string]func(*postgres.Update) error{
		"Organisation": func(u *postgres.Update) error { _, err := u.Organisation(ctx, who, "acme"); return err },
		"Home":         func(u *postgres.Update) error { _, err := u.Home(ctx, who, "acme"); return err },
		"HomeOf":       func(u *postgres.Update) error { _, err := u.HomeOf(ctx, who, org); return err },
		"ChangeOrganisation": func(u *postgres.Update) error {
			return u.ChangeOrganisation(ctx, who, postgres.Organisation{ID: org, Name: "acme", Settings: []byte("{}"), UserTokens: true})
		},
		"Project": func(u *postgres.Update) error { _, err := u.Project(ctx, who, w.project.Project); return err },
		"Teams":   func(u *postgres.Update) error { _, err := u.Teams(ctx, who, org); return err },
		"Grants":  func(u *postgres.Update) error { _, err := u.Grants(ctx, who, w.org); return err },
		"Tokens":  func(u *postgres.Update) error { _, err := u.Tokens(ctx, who, w.team); return err },
		"Audit": func(u *postgres.Update) (err error) {
			for _, err = range u.Audit(ctx, who, org) {
				break
			}
			return err
		},
		"CreateProject": func(u *postgres.Update) error { _, err := u.CreateProject(ctx, who, org, "two"); return err },
		"ChangeProject": func(u *postgres.Update) error {
			return u.ChangeProject(ctx, who, postgres.Project{ID: w.project.Project, Name: "three", Settings: []byte("{}")})
		},
		"DeleteProject": func(u *postgres.Update) error { return u.DeleteProject(ctx, who, w.project.Project) },
		"CreateTeam":    func(u *postgres.Update) error { _, err := u.CreateTeam(ctx, who, org, "second"); return err },
		"DeleteTeam":    func(u *postgres.Update) error { return u.DeleteTeam(ctx, who, w.team) },
		"AddMember":     func(u *postgres.Update) error { return u.AddMember(ctx, who, w.team, who.ID) },
		"RemoveMember":  func(u *postgres.Update) error { return u.RemoveMember(ctx, who, w.team, w.member.ID) },
		"Grant":         func(u *postgres.Update) error { return u.Grant(ctx, who, w.team, reader) },
		"Revoke":        func(u *postgres.Update) error { return u.Revoke(ctx, who, w.team, reader) },
		"CreateToken": func(u *postgres.Update) error {
			_, _, err := u.CreateToken(ctx, who, postgres.TokenRequest{Owner: w.team})
			return err
		},
		"RevokeToken": func(u *postgres.Update) error { return u.RevokeToken(ctx, who, w.token) },
	}
}

// TestStranger: whatever somebody calls who has no role, they learn nothing, not
// even that the thing exists; nothing changes; and it stands in the audit log
// (docs/database.md, rule 7). That no method is missing here, reflection checks.
func TestStranger(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	stranger := register(t, store, "stranger")
	calls := w.calls(t.Context(), stranger)
	before := entries(t, store, w.owner, w.org.Organisation)
	// Where principals come from, what shows and changes only what is one's own, and
	// what is of no organisation: TestSite, TestOwnUser.
	free := []string{"AuthenticateUpload", "Uploader", "Organisations", "Projects", "Stacks", "StacksAfter", "OwnGrants", "Standing", "Administrators", "Register", "CreateOrganisation", "Tx",
		"Appoint", "User", "ChangeUser", "ConfirmEmail", "PutLoginCode"}
	kind := reflect.TypeFor[*postgres.Update]()
	for i := range kind.NumMethod() {
		name := kind.Method(i).Name
		if slices.Contains(free, name) {
			continue
		}
		do, ok := calls[name]
		if !ok {
			t.Errorf("%s: nobody has tried it as a stranger", name)
			continue
		}
		if err := store.Update(t.Context(), do); problem.Code(err) != api.NotFound {
			t.Errorf("%s: %v, want that there is no such thing", name, err)
		}
	}
	log := entries(t, store, w.owner, w.org.Organisation)[len(before):]
	if len(log) != len(calls) {
		t.Errorf("%d entries for %d calls", len(log), len(calls))
	}
	for _, e := range log {
		if e.Outcome != "forbidden" || e.Principal != stranger || e.Detail["permission"] == "" {
			t.Errorf("%+v, want that it was forbidden to the stranger", e)
		}
	}
	if err := identity.Verify(slices.Values(append(before, log...))); err != nil {
		t.Error(err)
	}
}

// TestOwner: the calls about who there is are all done for an owner, and those that change
// something stand in the audit log.
func TestOwner(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	calls := w.identityCalls(t.Context(), w.owner)
	reads := []string{"Organisation", "Home", "HomeOf", "Project", "Teams", "Grants", "Tokens", "Audit"}
	changes := []string{"ChangeOrganisation", "CreateProject", "ChangeProject", "DeleteProject", "CreateTeam", "AddMember", "RemoveMember",
		"Grant", "Revoke", "CreateToken", "RevokeToken", "DeleteTeam"}
	if len(reads)+len(changes) != len(calls) {
		t.Errorf("%d calls, and %d are tried", len(calls), len(reads)+len(changes))
	}
	for _, name := range append(reads, changes...) {
		before := len(entries(t, store, w.owner, w.org.Organisation))
		if err := store.Update(t.Context(), calls[name]); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		log := entries(t, store, w.owner, w.org.Organisation)[before:]
		if slices.Contains(reads, name) != (len(log) == 0) || len(log) > 0 && log[0].Outcome != "done" {
			t.Errorf("%s: entries %+v", name, log)
		}
	}
}

// TestForbidden: who has a role, but not the one that is needed, is told which.
func TestForbidden(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	grant(t, store, w.owner, w.member.ID, identity.Reader, w.org)
	err := store.Update(t.Context(), func(u *postgres.Update) error {
		_, _ = u.CreateProject(t.Context(), w.member, w.org.Organisation, "p") // and goes on all the same
		_, err := u.CreateProject(t.Context(), w.owner, w.org.Organisation, "q")
		return err
	})
	if err != nil {
		t.Errorf("%v, want the second one done", err)
	}
	log := entries(t, store, w.owner, w.org.Organisation)
	if n := len(log); log[n-2].Outcome != "forbidden" || log[n-1].Outcome != "done" {
		t.Errorf("the last entries are %+v", log[n-2:])
	}
	err = store.Update(t.Context(), func(u *postgres.Update) error { return u.DeleteTeam(t.Context(), w.member, w.team) })
	if problem.Code(err) != api.Forbidden || !strings.Contains(err.Error(), "team:admin") {
		t.Errorf("%v, want the permission that is missing", err)
	}
}

func grant(t *testing.T, store *postgres.Store, who identity.Principal, holder string, role identity.Role, at identity.Scope) {
	t.Helper()
	update(t, store, func(u *postgres.Update) error {
		return u.Grant(t.Context(), who, holder, identity.Grant{Role: role, Scope: at})
	})
}

// TestNoMoreThanOneHas: a maintainer of a project may let others in, and make
// nobody an owner, nor anything outside of the project.
func TestNoMoreThanOneHas(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	friend := register(t, store, "friend")
	grant(t, store, w.owner, w.member.ID, identity.Maintainer, w.project)
	grant(t, store, w.member, friend.ID, identity.Maintainer, w.project)
	for _, g := range []identity.Grant{
		{Role: identity.Owner, Scope: w.project},
		{Role: identity.Reader, Scope: w.org},
		{Role: "emperor", Scope: w.project},
		{Role: identity.Reader, Scope: identity.Scope{Organisation: w.org.Organisation, Stack: w.project.Project}},
	} {
		err := store.Update(t.Context(), func(u *postgres.Update) error { return u.Grant(t.Context(), w.member, w.member.ID, g) })
		if err == nil {
			t.Errorf("%+v was given", g)
		}
	}
	// Nor may they take away what is more, by name or by putting less in its place.
	grant(t, store, w.owner, friend.ID, identity.Owner, w.project)
	for name, do := range map[string]func(*postgres.Update) error{
		"taken away": func(u *postgres.Update) error {
			return u.Revoke(t.Context(), w.member, friend.ID, identity.Grant{Role: identity.Owner, Scope: w.project})
		},
		"replaced": func(u *postgres.Update) error {
			return u.Grant(t.Context(), w.member, friend.ID, identity.Grant{Role: identity.Reader, Scope: w.project})
		},
	} {
		if err := store.Update(t.Context(), do); problem.Code(err) != api.Forbidden {
			t.Errorf("an owner was %s by a maintainer: %v", name, err)
		}
	}
	log := entries(t, store, w.owner, w.org.Organisation)
	if last := log[len(log)-1]; last.Action[:5] != "role:" || last.Outcome != "forbidden" {
		t.Errorf("the last entry is %+v", last)
	}
}

// TestAlwaysOwned: the last owner cannot be taken away, by whichever way, nor by
// two at once who each leave the other one.
func TestAlwaysOwned(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	owners := teamNamed(t, store, w.owner, w.org.Organisation, "owners")
	leave := map[string]func(*postgres.Update) error{
		"leaves the team": func(u *postgres.Update) error { return u.RemoveMember(t.Context(), w.owner, owners.ID, w.owner.ID) },
		"is no member": func(u *postgres.Update) error {
			return u.RemoveMembership(t.Context(), w.owner, owners.Members[0].ID)
		},
		"is taken out": func(u *postgres.Update) error {
			return u.RemoveMemberships(t.Context(), w.owner, owners.ID, []string{owners.Members[0].ID})
		},
		"deletes the team": func(u *postgres.Update) error { return u.DeleteTeam(t.Context(), w.owner, owners.ID) },
		"takes its role":   func(u *postgres.Update) error { return u.RemoveAccess(t.Context(), w.owner, owners.Access.ID) },
		"puts in less": func(u *postgres.Update) error {
			less := owners.Access
			less.Role = identity.Reader
			_, err := u.PutAccess(t.Context(), w.owner, less)
			return err
		},
		"leaves it to who is invited": func(u *postgres.Update) error {
			if _, err := u.Invite(t.Context(), w.owner, w.org.Organisation, "x@example.com", []string{owners.ID}); err != nil {
				return err
			}
			return u.RemoveMember(t.Context(), w.owner, owners.ID, w.owner.ID)
		},
	}
	for name, do := range leave {
		if err := store.Update(t.Context(), do); problem.Code(err) != api.Conflict {
			t.Errorf("the last owner %s: %v, want a conflict", name, err)
		}
	}
	grant(t, store, w.owner, w.member.ID, identity.Owner, w.org)
	left := make(chan error)
	go func() {
		left <- store.Update(t.Context(), func(u *postgres.Update) error {
			return u.Revoke(t.Context(), w.member, w.member.ID, identity.Grant{Role: identity.Owner, Scope: w.org})
		})
	}()
	errs := []error{store.Update(t.Context(), leave["deletes the team"]), <-left}
	if n := count(t, conn, "SELECT count(*) FROM grants WHERE role = 'owner'"); n != 1 {
		t.Errorf("%d owners are left after %v", n, errs)
	}
}

// TestNames: one name, one thing, whatever its case.
func TestNames(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	for name, want := range map[string]api.Code{"ONE": api.Conflict, "../etc": api.Invalid, "": api.Invalid, "two": ""} {
		err := store.Update(t.Context(), func(u *postgres.Update) error {
			_, err := u.CreateProject(t.Context(), w.owner, w.org.Organisation, name)
			return err
		})
		if err == nil && want != "" || err != nil && problem.Code(err) != want {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

// TestHostileText: whatever stands in what somebody sends is refused as such,
// never with an error of ours, and what is forbidden is written down all the same.
func TestHostileText(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	stranger := register(t, store, "stranger")
	for _, text := range []string{"", "\x00", "a\x00b", "\xff\xfe", "'; DROP TABLE users; --", strings.Repeat("x", 1<<20), "../../etc", w.org.Organisation + "\x00"} {
		project, org, team := w.project.Project, w.org.Organisation, w.team
		for name, do := range map[string]func(*postgres.Update) error{
			"id": func(u *postgres.Update) error {
				return u.ChangeProject(t.Context(), w.owner, postgres.Project{ID: text, Name: "name", Settings: []byte("{}")})
			},
			"name": func(u *postgres.Update) error {
				return u.ChangeProject(t.Context(), w.owner, postgres.Project{ID: project, Name: text, Settings: []byte("{}")})
			},
			"lookup": func(u *postgres.Update) error { _, err := u.Organisation(t.Context(), w.owner, text); return err },
			"place": func(u *postgres.Update) error {
				_, err := u.CreateTeam(t.Context(), stranger, text, "name")
				return err
			},
			"holder": func(u *postgres.Update) error {
				return u.Grant(t.Context(), w.owner, text, identity.Grant{Role: identity.Reader, Scope: w.org})
			},
			"description": func(u *postgres.Update) error {
				_, _, err := u.CreateToken(t.Context(), stranger, postgres.TokenRequest{Owner: team, Description: text})
				return err
			},
			"described": func(u *postgres.Update) error {
				_, _, err := u.CreateToken(t.Context(), w.owner, postgres.TokenRequest{Owner: team, Description: text + "\x00"})
				return err
			},
			"user": func(u *postgres.Update) error {
				return u.Register(t.Context(), identity.Principal{Kind: identity.Person, ID: text, Name: text})
			},
			"principal": func(u *postgres.Update) error {
				_, err := u.CreateProject(t.Context(), identity.Principal{Kind: identity.Person, ID: "x", Name: text}, org, "name")
				return err
			},
		} {
			err := store.Update(t.Context(), do)
			if code := problem.Code(err); err == nil || code != api.Invalid && code != api.NotFound {
				t.Errorf("%s %.20q: %v (%s)", name, text, err, code)
			}
		}
	}
	if n := count(t, conn, "SELECT count(*) FROM audit_entries WHERE action = 'team:create' AND principal_id = $1 AND outcome = 'forbidden'", stranger.ID); n != 8 {
		t.Errorf("%d of 8 calls of a stranger were written down", n)
	}
	if n := count(t, conn, "SELECT max(length(audit_entries::text)) FROM audit_entries"); n > 5000 {
		t.Errorf("an entry has %d characters", n)
	}
	if err := identity.Verify(slices.Values(entries(t, store, w.owner, w.org.Organisation))); err != nil {
		t.Error(err)
	}
}

// TestNoWholeTable: no change reads a whole table, not even a small one. Postgres would
// take it for a reader of every row of it, and have it fail with changes of other
// organisations, by other replicas, again and again (docs/database.md, rule 4).
func TestNoWholeTable(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	undone := errors.New("it is enough to have seen it")
	for name, do := range w.calls(t.Context(), w.owner) {
		err := store.Update(t.Context(), func(u *postgres.Update) error {
			_ = do(u) // some want that another one was before
			rows, err := u.Tx().Query(t.Context(), `
				SELECT DISTINCT relname::text FROM pg_locks JOIN pg_class ON pg_class.oid = relation
				WHERE pid = pg_backend_pid() AND mode = 'SIReadLock' AND locktype = 'relation' AND relkind = 'r'`)
			if err != nil {
				return err
			}
			tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if len(tables) > 0 {
				t.Errorf("%s reads all of %v", name, tables)
			}
			return errors.Join(err, undone)
		})
		if !errors.Is(err, undone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
