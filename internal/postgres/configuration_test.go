package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

var aDigest = "sha256:" + strings.Repeat("0", 64)

// anArchive is one that is there whenever somebody asks.
var anArchive = postgres.Archive{Digest: aDigest, Size: 1, Present: func(context.Context) error { return nil }}

func (w world) configurationCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	return map[string]func(*postgres.Update) error{
		"Configuration":  func(u *postgres.Update) error { _, err := u.Configuration(ctx, who, w.configuration); return err },
		"Configurations": func(u *postgres.Update) error { _, _, err := u.Configurations(ctx, who, w.stack.ID, 0, 9); return err },
		"CurrentConfiguration": func(u *postgres.Update) error {
			_, err := u.CurrentConfiguration(ctx, who, w.stack.ID)
			return err
		},
		"CreateConfiguration": func(u *postgres.Update) error {
			_, _, err := u.CreateConfiguration(ctx, who, w.stack.ID, postgres.Configuration{Source: "terraform"})
			return err
		},
		"KeepConfiguration": func(u *postgres.Update) error {
			_, err := u.KeepConfiguration(ctx, who, w.configuration, anArchive)
			return err
		},
		"ConfigurationToRead": func(u *postgres.Update) error {
			_, err := u.ConfigurationToRead(ctx, who, w.configuration)
			if problem.Code(err) == api.NotFound && strings.Contains(err.Error(), "pending") {
				return nil // it may be read, and is not there
			}
			return err
		},
		"ArchiveConfiguration": func(u *postgres.Update) error { return u.ArchiveConfiguration(ctx, who, w.configuration) },
	}
}

// TestUploader: whoever shows the secret acts as the one who made the version, for
// as long as that one may do it.
func TestUploader(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	grant(t, store, w.owner, w.member.ID, identity.Planner, w.org)
	var made postgres.Configuration
	var secret string
	update(t, store, func(u *postgres.Update) (err error) {
		made, secret, err = u.CreateConfiguration(t.Context(), w.member, w.stack.ID, postgres.Configuration{Source: "tfe-api"})
		return err
	})
	uploader := func(id, secret string) (who identity.Principal, err error) {
		err = store.View(t.Context(), func(v *postgres.View) error { who, _, err = v.Uploader(t.Context(), id, secret); return err })
		return who, err
	}
	if who, err := uploader(made.ID, secret); err != nil || who != w.member {
		t.Errorf("%+v, %v", who, err)
	}
	for name, shown := range map[string][2]string{
		"no secret":              {made.ID, ""},
		"another's secret":       {w.configuration, secret},
		"another secret":         {made.ID, secret[:len(secret)-1]},
		"no version":             {"cfg_0000000000000000000000", secret},
		"the digest as a secret": {made.ID, aDigest},
	} {
		if who, err := uploader(shown[0], shown[1]); problem.Code(err) != api.NotFound {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	if n := count(t, conn, "SELECT count(*) FROM configurations c WHERE c::text LIKE '%' || $1 || '%'", secret); n != 0 {
		t.Error("the table holds the secret")
	}
	update(t, store, func(u *postgres.Update) error {
		return u.Revoke(t.Context(), w.owner, w.member.ID, identity.Grant{Role: identity.Planner, Scope: w.org})
	})
	if _, err := uploader(made.ID, secret); problem.Code(err) != api.NotFound {
		t.Errorf("they may not any more, and the address still works: %v", err)
	}
	execute(t, conn, "UPDATE configurations SET created_at = created_at - interval '25 hours'")
	if _, err := uploader(w.configuration, w.secret); problem.Code(err) != api.Conflict {
		t.Errorf("after a day: %v", err)
	}
}
