package postgres_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
	"github.com/assize-iac/assize/internal/problem"
)

// TestTwoMigrators: of several processes that start at once one migrates, and all
// of them find it done (docs/database.md, rule 6).
func TestTwoMigrators(t *testing.T) {
	t.Parallel()
	url := postgrestest.Empty(t)
	if _, err := postgres.Open(t.Context(), url); problem.Code(err) != api.Conflict {
		t.Errorf("an empty database: %v, want a conflict", err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if err := postgres.Migrate(t.Context(), url+"&pool_max_conns=1"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
}

// TestNewerSchema: a build that is older than the schema does not start.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	execute(t, connect(t, url), "UPDATE schema_migrations SET version = version + 1")
	latest, err := postgres.Latest()
	if err != nil {
		t.Fatal(err)
	}
	_, errOpen := postgres.Open(t.Context(), url)
	for _, err := range []error{errOpen, postgres.Migrate(t.Context(), url)} {
		if problem.Code(err) != api.Refused || !strings.Contains(err.Error(), fmt.Sprint(latest+1)) || problem.Hint(err) == "" {
			t.Errorf("%v (%s), want a refusal that says which version is needed", err, problem.Hint(err))
		}
	}
}

// TestFailedMigration: of a migration that fails nothing is kept, not even when
// its first statements worked; the message says why, and the next start tries
// again.
func TestFailedMigration(t *testing.T) {
	t.Parallel()
	url := postgrestest.Empty(t)
	conn := connect(t, url)
	files := fstest.MapFS{
		"migrations/000001_one.up.sql": {Data: []byte("CREATE TABLE one (n int);\nINSERT INTO one VALUES (1);\nALTER TABLE mine ADD COLUMN n int;")},
		"migrations/000002_two.up.sql": {Data: []byte("CREATE TABLE two (n int);\nINSERT INTO two VALUES (1);\nALTER TABLE thine ADD COLUMN n int;")},
	}
	for number, table := range []string{"mine", "thine"} {
		for range 2 {
			err := postgres.MigrateWith(t.Context(), url, files)
			which := fmt.Sprintf("migration %d ", number+1)
			why := fmt.Sprintf("relation %q does not exist", table)
			if problem.Code(err) != api.Unavailable || !strings.Contains(err.Error(), which) || !strings.Contains(err.Error(), why) {
				t.Fatalf("%v, want that %sfailed, and why", err, which)
			}
			if n := count(t, conn, "SELECT count(*) FROM pg_class WHERE relname IN ('one', 'two')"); n != number {
				t.Errorf("there are %d tables: half of the migration was kept", n)
			}
		}
		execute(t, conn, "CREATE TABLE "+table+" ()")
	}
	if err := postgres.MigrateWith(t.Context(), url, files); err != nil {
		t.Fatal(err)
	}
	if n := count(t, conn, "SELECT (SELECT count(*) FROM one) + (SELECT count(*) FROM two)"); n != 2 {
		t.Errorf("they left %d rows, want one each", n)
	}
}

// TestKilledAfterMigration: a migration says itself that it is done. If that came
// later, a process that is killed in between would leave a schema that is new and
// said to be broken.
func TestKilledAfterMigration(t *testing.T) {
	t.Parallel()
	url := postgrestest.Empty(t)
	files := fstest.MapFS{"migrations/000001_one.up.sql": {Data: []byte(
		"CREATE FUNCTION done() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE IF NOT EXISTS seen AS SELECT OLD.dirty AS before, NEW.dirty AS after; RETURN NEW; END $$;\n" +
			"CREATE TRIGGER done BEFORE UPDATE ON schema_migrations FOR EACH ROW EXECUTE FUNCTION done()")}}
	if err := postgres.MigrateWith(t.Context(), url, files); err != nil {
		t.Fatal(err)
	}
	if n := count(t, connect(t, url), "SELECT count(*) FROM seen WHERE before AND NOT after"); n != 1 {
		t.Error("the migration did not say in its own transaction that it was done")
	}
}

// TestMembersOfBefore: who had a role or was in a team before there were memberships
// is a member, and may what they could.
func TestMembersOfBefore(t *testing.T) {
	t.Parallel()
	url := postgrestest.Empty(t)
	before := fstest.MapFS{}
	for _, name := range []string{"migrations/000001_identity.up.sql", "migrations/000002_stack.up.sql"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before[name] = &fstest.MapFile{Data: text}
	}
	if err := postgres.MigrateWith(t.Context(), url, before); err != nil {
		t.Fatal(err)
	}
	ann, bob := postgres.NewUser("ann"), postgres.NewUser("bob")
	const org, team, project = "org_0000000000000000000000", "team_0000000000000000000000", "prj_0000000000000000000000"
	conn := connect(t, url)
	for _, sql := range []string{
		fmt.Sprintf("INSERT INTO users VALUES ('%s', 'ann', now()), ('%s', 'bob', now())", ann.ID, bob.ID),
		"INSERT INTO organisations VALUES ('" + org + "', 'acme', now())",
		"INSERT INTO audit_heads (chain) VALUES ('" + org + "')",
		"INSERT INTO projects VALUES ('" + project + "', '" + org + "', 'one', now())",
		"INSERT INTO teams VALUES ('" + team + "', '" + org + "', 'ops', now())",
		fmt.Sprintf("INSERT INTO team_members VALUES ('%s', '%s'), ('%s', '%s')", team, ann.ID, team, bob.ID),
		fmt.Sprintf("INSERT INTO grants (user_id, role, organisation) VALUES ('%s', 'owner', '%s')", ann.ID, org),
		fmt.Sprintf("INSERT INTO grants (team_id, role, organisation, project) VALUES ('%s', 'reader', '%s', '%s')", team, org, project),
	} {
		execute(t, conn, sql)
	}
	if err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	view(t, store, func(v *postgres.View) error {
		members, err := v.Memberships(t.Context(), ann, org)
		if len(members) != 2 || !slices.Contains(members[0].Teams, team) || !slices.Contains(members[1].Teams, team) {
			t.Errorf("the members are %+v, %v", members, err)
		}
		_, err = v.Project(t.Context(), bob, project)
		return err
	})
	update(t, store, func(u *postgres.Update) error {
		_, err := u.CreateProject(t.Context(), ann, org, "two")
		return err
	})
}
