package postgres_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
	"github.com/assize-iac/assize/internal/problem"
)

// A shelf is stacks of two projects, and people who see different ones of them.
type shelf struct {
	store  *postgres.Store
	org    string
	stacks []postgres.Stack // in the order of their names
	sees   map[identity.Principal]func(postgres.Stack) bool
}

func newShelf(t *testing.T) shelf {
	t.Helper()
	store, _ := open(t)
	owner, org := found(t, store, "acme")
	one, two := project(t, store, owner, org.Organisation, "one"), project(t, store, owner, org.Organisation, "two")
	s := shelf{store: store, org: org.Organisation}
	update(t, store, func(u *postgres.Update) error {
		s.stacks = nil
		for i := range 24 {
			in := []identity.Scope{one, two}[i%2]
			made, err := u.CreateStack(t.Context(), owner, postgres.Stack{Project: in.Project, Name: fmt.Sprintf("%s%d_App", []string{"a", "B", "_", "a-"}[i%4], i)})
			if err != nil {
				return err
			}
			tags := []postgres.Tag{{Key: "all"}, {Key: "env", Value: []string{"dev", "prod"}[i%3%2]}, {Key: fmt.Sprint("third-", i%3)}}
			if err := u.AddTags(t.Context(), owner, made.ID, tags[:1+i%3]); err != nil {
				return err
			}
			if made, err = u.Stack(t.Context(), owner, made.ID); err != nil {
				return err
			}
			s.stacks = append(s.stacks, made)
		}
		return nil
	})
	slices.SortFunc(s.stacks, func(a, b postgres.Stack) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	ofProject, ofStacks, nobody := register(t, store, "of-project"), register(t, store, "of-stacks"), register(t, store, "nobody")
	grant(t, store, owner, ofProject.ID, identity.Reader, one)
	grant(t, store, owner, ofStacks.ID, identity.Reader, one)
	few := s.stacks[3:9]
	for _, one := range few {
		grant(t, store, owner, ofStacks.ID, identity.Planner, identity.Scope{Organisation: s.org, Project: one.Project, Stack: one.ID})
	}
	s.sees = map[identity.Principal]func(postgres.Stack) bool{
		owner:     func(postgres.Stack) bool { return true },
		ofProject: func(s postgres.Stack) bool { return s.Project == one.Project },
		ofStacks: func(s postgres.Stack) bool {
			return s.Project == one.Project || slices.ContainsFunc(few, func(f postgres.Stack) bool { return f.ID == s.ID })
		},
		nobody: func(postgres.Stack) bool { return false },
	}
	return s
}

// wanted reports whether a stack is one that q asks for, said once more.
func wanted(q postgres.StackQuery, s postgres.Stack) bool {
	name := strings.ToLower(s.Name)
	for _, t := range q.Tags {
		if !slices.ContainsFunc(s.Tags, func(has postgres.Tag) bool { return has.Key == t.Key && (t.Value == "" || has.Value == t.Value) }) {
			return false
		}
	}
	wildcard := "^" + strings.ReplaceAll(regexp.QuoteMeta(strings.ToLower(q.Wildcard)), `\*`, ".*") + "$"
	return (q.Project == "" || q.Project == s.Project) && strings.Contains(name, strings.ToLower(q.Name)) &&
		(q.Wildcard == "" || regexp.MustCompile(wildcard).MatchString(name)) &&
		!slices.ContainsFunc(s.Tags, func(t postgres.Tag) bool { return slices.Contains(q.Without, t.Key) })
}

// people are those who see different stacks, in an order that is always the same.
func (s shelf) people() []identity.Principal {
	return slices.SortedFunc(maps.Keys(s.sees), func(a, b identity.Principal) int { return cmp.Compare(a.Name, b.Name) })
}

// searches are what somebody searches for: less than three characters, of which the index
// for parts of names knows nothing, three, more, and what is in no name.
var searches = []string{"", "", "1", "_", "%", `\`, "_a", "app", "APP", "a-1", "1_App", "App*", "a*p", "ä_app", strings.Repeat("long", 50)}

// TestPagesOfStacks: whoever turns all pages of whatever list sees each stack once,
// in order, that they asked for and may see; and the count says how many.
func TestPagesOfStacks(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	tags := rapid.SampledFrom([]postgres.Tag{{Key: "all"}, {Key: "env"}, {Key: "env", Value: "dev"}, {Key: "third-1"}, {Key: "none"}})
	rapid.Check(t, func(t *rapid.T) {
		who := rapid.SampledFrom(s.people()).Draw(t, "who")
		q := postgres.StackQuery{
			Organisation: s.org,
			Project:      rapid.SampledFrom([]string{"", "", s.stacks[0].Project, "prj_nothing"}).Draw(t, "project"),
			Name:         rapid.SampledFrom(searches).Draw(t, "name"),
			Wildcard:     rapid.SampledFrom([]string{"", "", "a*", "B1*", "_*", "%*", "*", "*App", "a-*_aPP", "*_a*p", "*1*_ap*", "a2_App"}).Draw(t, "wildcard"),
			Tags:         rapid.SliceOfN(tags, 0, 2).Draw(t, "tags"),
			Without:      rapid.SampledFrom([][]string{nil, nil, {"third-0"}, {"env", "none"}}).Draw(t, "without"),
			Descending:   rapid.Bool().Draw(t, "descending"),
			Limit:        rapid.IntRange(7, 25).Draw(t, "limit"),
		}
		var want, got []string
		for _, stack := range s.stacks {
			if s.sees[who](stack) && wanted(q, stack) {
				want = append(want, stack.Name)
			}
		}
		if q.Descending {
			slices.Reverse(want)
		}
		for page := 0; page == 0 || q.Offset < len(want)+q.Limit; page++ {
			err := s.store.View(context.Background(), func(v *postgres.View) error {
				found, total, err := v.Stacks(context.Background(), who, q)
				for _, stack := range found {
					got = append(got, stack.Name)
				}
				if total != len(want) {
					t.Errorf("the list says that there are %d, want %d", total, len(want))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			q.Offset += q.Limit
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
	})
}

// TestStacksAfterEachOther: whoever turns the pages of /v1 sees each stack once, in
// order, that they asked for and may see.
func TestStacksAfterEachOther(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	rapid.Check(t, func(t *rapid.T) {
		who := rapid.SampledFrom(s.people()).Draw(t, "who")
		p := postgres.StackPage{
			Organisation: s.org,
			Project:      rapid.SampledFrom([]string{"", "", s.stacks[0].Project, "prj_nothing"}).Draw(t, "project"),
			Search:       rapid.SampledFrom(searches).Draw(t, "search"),
			Limit:        rapid.IntRange(5, 25).Draw(t, "limit"),
		}
		var want, got []string
		for _, stack := range s.stacks {
			if s.sees[who](stack) && wanted(postgres.StackQuery{Project: p.Project, Name: p.Search}, stack) {
				want = append(want, stack.Name)
			}
		}
		for page := p.Limit; page == p.Limit; {
			err := s.store.View(context.Background(), func(v *postgres.View) error {
				found, err := v.StacksAfter(context.Background(), who, p)
				for _, stack := range found {
					got = append(got, stack.Name)
					p.After = stack.Name
				}
				page = len(found)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
	})
}

// TestMoveStack: a stack moves with the roles for it, if whoever moves it may in both
// projects; the projects count it; no other organisation's project takes it.
func TestMoveStack(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	_, elsewhere := found(t, store, "elsewhere")
	foreign := count(t, conn, "SELECT count(*) FROM projects WHERE organisation = $1", elsewhere.Organisation)
	if foreign != 1 {
		t.Fatalf("%d projects", foreign)
	}
	at := identity.Scope{Organisation: w.org.Organisation, Project: w.stack.Project, Stack: w.stack.ID}
	grant(t, store, w.owner, w.member.ID, identity.Maintainer, at)
	moved := w.stack
	moved.Project = w.project.Project
	move := func(who identity.Principal, s postgres.Stack) error {
		return store.Update(t.Context(), func(u *postgres.Update) error { _, err := u.ChangeStack(t.Context(), who, s); return err })
	}
	if err := move(w.member, moved); problem.Code(err) != api.NotFound {
		t.Errorf("without a role in the other project: %v", err)
	}
	were := count(t, conn, "SELECT stacks FROM projects WHERE id = $1", w.stack.Project)
	if err := move(w.owner, moved); err != nil {
		t.Fatal(err)
	}
	renamed := moved
	renamed.Name = "other"
	if err := move(w.member, renamed); err != nil {
		t.Errorf("the role did not move: %v", err)
	}
	if n := count(t, conn, "SELECT stacks FROM projects WHERE id = $1", moved.Project); n != 1 {
		t.Errorf("the project counts %d stacks", n)
	}
	if n := count(t, conn, "SELECT stacks FROM projects WHERE id = $1", w.stack.Project); n != were-1 {
		t.Errorf("the project that it left counts %d stacks of %d", n, were)
	}
	var other string
	if err := conn.QueryRow(t.Context(), "SELECT id FROM projects WHERE organisation = $1", elsewhere.Organisation).Scan(&other); err != nil {
		t.Fatal(err)
	}
	moved.Project = other
	if err := move(w.owner, moved); problem.Code(err) != api.NotFound {
		t.Errorf("to another organisation: %v", err)
	}
}

// TestDeleteOrganisation: one with a state or a lock stays; one without goes with all
// that is in it but its audit chain, whose last entry says so.
func TestDeleteOrganisation(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	org := w.org.Organisation
	remove := func() error {
		return store.Update(t.Context(), func(u *postgres.Update) error { return u.DeleteOrganisation(t.Context(), w.owner, org) })
	}
	if err := remove(); problem.Code(err) != api.Refused || problem.Hint(err) == "" {
		t.Errorf("with a state: %v", err)
	}
	var left postgres.Stack
	update(t, store, func(u *postgres.Update) (err error) {
		if err := u.DeleteStack(t.Context(), w.owner, w.stack.ID, true); err != nil {
			return err
		}
		if left, err = u.CreateStack(t.Context(), w.owner, postgres.Stack{Project: w.project.Project, Name: "left"}); err != nil {
			return err
		}
		_, err = u.LockStack(t.Context(), w.owner, left.ID, postgres.LockRequest{})
		return err
	})
	if err := remove(); problem.Code(err) != api.Refused || !strings.Contains(err.Error(), "left") {
		t.Errorf("with a lock: %v", err)
	}
	update(t, store, func(u *postgres.Update) error { return u.UnlockStack(t.Context(), w.owner, left.ID, "") })
	before := entries(t, store, w.owner, org)
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"stacks", "projects", "teams", "grants", "tags", "memberships"} {
		if n := count(t, conn, "SELECT count(*) FROM "+table+" WHERE organisation = $1", org); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if n := count(t, conn, "SELECT count(*) FROM audit_entries WHERE chain = $1", org); n != len(before)+1 {
		t.Errorf("%d entries, want those %d and the last", n, len(before))
	}
	if n := count(t, conn, "SELECT count(*) FROM audit_entries WHERE chain = $1 AND action = 'organisation:delete' AND outcome = 'done'", org); n != 1 {
		t.Errorf("%d entries say that it was deleted", n)
	}
}

// BenchmarkStacks turns pages of a list of 50,000 stacks: as an owner, as somebody
// with a role for one project of fifty, for a project, and by a part of the name.
func BenchmarkStacks(b *testing.B) {
	url := postgrestest.URL(b)
	store, err := postgres.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.Background())
	_, err = conn.Exec(b.Context(), `
		INSERT INTO organisations (id, name, project, created_at) VALUES ('org_' || repeat('0', 22), 'acme', 'prj_' || lpad('1', 22, '0'), now());
		INSERT INTO projects (id, organisation, name, created_at) SELECT 'prj_' || lpad(n::text, 22, '0'), 'org_' || repeat('0', 22), 'p' || n, now() FROM generate_series(0, 49) n;
		INSERT INTO users (id, name, created_at) VALUES ('usr_' || repeat('0', 22), 'owner', now()), ('usr_' || repeat('1', 22), 'member', now());
		ALTER TABLE stacks DISABLE TRIGGER USER;
		INSERT INTO stacks (id, organisation, project, name, settings, created_at, updated_at)
			SELECT 'stk_' || lpad(n::text, 22, '0'), 'org_' || repeat('0', 22), 'prj_' || lpad((n % 50)::text, 22, '0'), md5(n::text), '{"auto-apply": true}', now(), now() FROM generate_series(1, 50000) n;
		UPDATE projects SET stacks = 1000;
		INSERT INTO memberships (id, organisation, user_id, created_at)
			SELECT 'mem_' || right(id, 22), 'org_' || repeat('0', 22), id, now() FROM users;
		INSERT INTO grants (id, user_id, role, organisation, project) VALUES
			('grt_' || repeat('0', 22), 'usr_' || repeat('0', 22), 'owner', 'org_' || repeat('0', 22), NULL),
			('grt_' || repeat('1', 22), 'usr_' || repeat('1', 22), 'reader', 'org_' || repeat('0', 22), 'prj_' || lpad('7', 22, '0'))`)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := conn.Exec(b.Context(), "VACUUM ANALYZE"); err != nil { // as in a database that has been running for a while
		b.Fatal(err)
	}
	org, zeros := "org_"+strings.Repeat("0", 22), strings.Repeat("0", 22)
	owner := identity.Principal{Kind: identity.Person, ID: "usr_" + zeros}
	member := identity.Principal{Kind: identity.Person, ID: "usr_" + strings.Repeat("1", 22)}
	for name, c := range map[string]struct {
		who  identity.Principal
		q    postgres.StackQuery
		last int
	}{
		"owner":   {owner, postgres.StackQuery{}, 50000},
		"member":  {member, postgres.StackQuery{}, 1000},
		"project": {owner, postgres.StackQuery{Project: "prj_" + zeros[:21] + "3"}, 1000},
		"name":    {owner, postgres.StackQuery{Name: "abc"}, 300},
	} {
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				q := c.q
				q.Organisation, q.Limit, q.Offset = org, 20, i*7919%c.last
				err := store.View(b.Context(), func(v *postgres.View) error {
					_, total, err := v.Stacks(b.Context(), c.who, q)
					if err == nil && total < c.last {
						err = fmt.Errorf("%d stacks", total)
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
