package postgres_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
	"github.com/assize-iac/assize/internal/problem"
)

// TestAdministrator: of several servers that start at once on a new database one
// makes the administrator; and they stay who they are when they change their name,
// whoever takes it then.
func TestAdministrator(t *testing.T) {
	t.Parallel()
	store := postgrestest.Open(t)
	var all sync.WaitGroup
	var made atomic.Int64
	for range 3 {
		all.Go(func() {
			_, first, err := store.Administrator(t.Context(), "acme")
			if err != nil {
				t.Error(err)
			}
			if first {
				made.Add(1)
			}
		})
	}
	all.Wait()
	who, again, err := store.Administrator(t.Context(), "another")
	if err != nil || again || made.Load() != 1 {
		t.Fatalf("%v, made %d times", err, made.Load())
	}
	update(t, store, func(u *postgres.Update) error { return u.ChangeUser(t.Context(), who, "ann", "") })
	register(t, store, "admin")
	if same, again, err := store.Administrator(t.Context(), "another"); err != nil || again || same.ID != who.ID {
		t.Errorf("%+v %v %v, want the user %s", same, again, err, who.ID)
	}
	update(t, store, func(u *postgres.Update) error {
		own, err := u.Organisations(t.Context(), who)
		if len(own) != 1 || own[0].Name != "acme" {
			t.Errorf("the administrator has %+v", own)
		}
		return err
	})
}

// TestSignInInvited: who was invited by their address becomes a user and a member,
// and is the same user ever after, whatever their address becomes.
func TestSignInInvited(t *testing.T) {
	t.Parallel()
	store := postgrestest.Open(t)
	admin, _, err := store.Administrator(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	closed := func(string) bool { return false }
	ann := postgres.Vouched{Issuer: "https://id.example.com", Subject: "ann", Email: "Ann@example.com", Verified: true}
	if who, err := store.SignIn(t.Context(), ann, closed); problem.Code(err) != api.Forbidden || who != (identity.Principal{}) {
		t.Errorf("without an invitation: %+v %v", who, err)
	}
	update(t, store, func(u *postgres.Update) error {
		org, err := u.Organisation(t.Context(), admin, "acme")
		if err == nil {
			_, err = u.Invite(t.Context(), admin, org.ID, "ann@EXAMPLE.com", nil)
		}
		return err
	})
	unverified := ann
	unverified.Verified = false
	if _, err := store.SignIn(t.Context(), unverified, closed); problem.Code(err) != api.Forbidden {
		t.Errorf("an address that is not verified: %v", err)
	}
	who, err := store.SignIn(t.Context(), ann, closed)
	if err != nil {
		t.Fatal(err)
	}
	ann.Email, ann.Verified = "", false
	if same, err := store.SignIn(t.Context(), ann, closed); err != nil || same != who {
		t.Errorf("%+v %v, want %+v", same, err, who)
	}
	ann.Issuer = "https://evil.example.com"
	if _, err := store.SignIn(t.Context(), ann, closed); problem.Code(err) != api.Forbidden {
		t.Errorf("the same subject of another issuer: %v", err)
	}
	update(t, store, func(u *postgres.Update) error {
		known, err := u.User(t.Context(), who)
		if known.Email != "ann@example.com" {
			t.Errorf("%+v", known)
		}
		return err
	})
}

// TestTakeLoginCode: of many who come with one code, one gets it.
func TestTakeLoginCode(t *testing.T) {
	t.Parallel()
	store := postgrestest.Open(t)
	who := register(t, store, "ann")
	kept := postgres.LoginCode{Digest: artifact.Digest([]byte("the code")), Client: "tofu", Redirect: "http://localhost:10000/login",
		Challenge: "0123456789012345678901234567890123456789012", Expires: time.Now().Add(time.Minute).UTC().Truncate(time.Microsecond)}
	update(t, store, func(u *postgres.Update) error { return u.PutLoginCode(t.Context(), who, kept) })
	var all sync.WaitGroup
	var got atomic.Int64
	for range 8 {
		all.Go(func() {
			whose, code, err := store.TakeLoginCode(t.Context(), kept.Digest)
			switch {
			case err == nil:
				got.Add(1)
				if code.Expires = code.Expires.UTC(); whose != who || code != kept {
					t.Errorf("%+v %+v", whose, code)
				}
			case problem.Code(err) != api.NotFound:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got.Load() != 1 {
		t.Errorf("%d got it", got.Load())
	}
}
