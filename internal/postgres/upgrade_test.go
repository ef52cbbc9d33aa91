package postgres_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
)

// upTo are the first migrations, up to this number.
func upTo(t *testing.T, number uint) fs.FS {
	t.Helper()
	entries, err := os.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, e := range entries {
		var n uint
		if _, err := fmt.Sscanf(e.Name(), "%06d_", &n); err != nil {
			t.Fatal(err)
		}
		if n > number {
			continue
		}
		text, err := os.ReadFile("migrations/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		files["migrations/"+e.Name()] = &fstest.MapFile{Data: text}
	}
	return files
}

// first is what a server of the first schema kept: two people of an organisation, one
// of them in a team, their tokens and roles, and a project.
const first = `
	INSERT INTO organisations VALUES ('org_0000000000000000000001', 'acme', now());
	INSERT INTO projects VALUES ('prj_0000000000000000000001', 'org_0000000000000000000001', 'network', now());
	INSERT INTO users VALUES ('usr_0000000000000000000001', 'ann', now()), ('usr_0000000000000000000002', 'bob', now());
	INSERT INTO teams VALUES ('team_0000000000000000000001', 'org_0000000000000000000001', 'operators', now());
	INSERT INTO team_members VALUES ('team_0000000000000000000001', 'usr_0000000000000000000002');
	INSERT INTO audit_heads (chain) VALUES ('org_0000000000000000000001');
	INSERT INTO grants (user_id, role, organisation) VALUES ('usr_0000000000000000000001', 'owner', 'org_0000000000000000000001');
	INSERT INTO grants (team_id, role, organisation, project)
		VALUES ('team_0000000000000000000001', 'maintainer', 'org_0000000000000000000001', 'prj_0000000000000000000001');
	INSERT INTO tokens (id, kind, user_id, description, digest, created_at)
		VALUES ('tok_0000000000000000000001', 'user', 'usr_0000000000000000000001', 'of the first version', 'DIGEST', now());
	INSERT INTO tokens (id, kind, team_id, organisation, description, digest, created_at)
		VALUES ('tok_0000000000000000000002', 'team', 'team_0000000000000000000001', 'org_0000000000000000000001', '',
			'sha256:0000000000000000000000000000000000000000000000000000000000000000', now());`

// TestUpgrade: whatever version kept them, after an upgrade people have what they had:
// their tokens, their organisation, their roles (docs/server.md, rule 18).
func TestUpgrade(t *testing.T) {
	t.Parallel()
	latest, err := postgres.Latest()
	if err != nil {
		t.Fatal(err)
	}
	for number := uint(1); number < latest; number++ {
		url := postgrestest.Empty(t)
		token := identity.NewToken(identity.UserToken, [32]byte{1: byte(number)})
		if err := postgres.MigrateWith(t.Context(), url, upTo(t, 1)); err != nil {
			t.Fatal(err)
		}
		conn := connect(t, url)
		execute(t, conn, strings.ReplaceAll(first, "DIGEST", token.Digest()))
		if err := postgres.MigrateWith(t.Context(), url, upTo(t, number)); err != nil {
			t.Fatalf("from 1 to %d: %v", number, err)
		}
		if err := postgres.Migrate(t.Context(), url); err != nil {
			t.Fatalf("from %d on: %v", number, err)
		}
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		upgraded(t, store, token)
		store.Close()
	}
}

// upgraded looks at the first rows with the methods of today.
func upgraded(t *testing.T, store *postgres.Store, token identity.Token) {
	t.Helper()
	ann, err := store.Authenticate(t.Context(), token)
	if err != nil || ann.Name != "ann" {
		t.Fatalf("%+v %v", ann, err)
	}
	update(t, store, func(u *postgres.Update) error {
		acme, err := u.Organisation(t.Context(), ann, "acme")
		if err != nil {
			t.Fatal(err)
		}
		teams, err := u.Teams(t.Context(), ann, acme.ID)
		if err != nil || len(teams) == 0 {
			t.Errorf("%+v %v", teams, err)
		}
		if _, err := u.CreateProject(t.Context(), ann, acme.ID, "made today"); err != nil {
			t.Error(err)
		}
		bob := identity.Principal{Kind: identity.Person, ID: "usr_0000000000000000000002", Name: "bob"}
		_, err = u.CreateStack(t.Context(), bob, postgres.Stack{Project: "prj_0000000000000000000001", Name: "app"})
		return err
	})
	if _, made, err := store.Administrator(t.Context(), "default"); err != nil || !made {
		t.Errorf("an administrator: %v %v", made, err)
	}
}
