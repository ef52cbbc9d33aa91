package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// TestTeamAndTokens: members may what the team may, and so does its token; the
// organisation's has a role of its own; a user's acts as the user.
func TestTeamAndTokens(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	grant(t, store, w.owner, w.team, identity.Maintainer, w.org)
	tokens := map[string]identity.Token{}
	update(t, store, func(u *postgres.Update) error {
		if err := u.AddMember(t.Context(), w.owner, w.team, w.member.ID); err != nil {
			return err
		}
		for _, r := range []struct {
			who identity.Principal
			postgres.TokenRequest
		}{
			{w.member, postgres.TokenRequest{Owner: w.member.ID, Description: "mine"}},
			{w.owner, postgres.TokenRequest{Owner: w.team, Description: "ours"}},
			{w.owner, postgres.TokenRequest{Owner: w.org.Organisation, Role: identity.Maintainer, Description: "of all"}},
		} {
			token, made, err := u.CreateToken(t.Context(), r.who, r.TokenRequest)
			if err != nil {
				return err
			}
			if made.Digest != token.Digest() {
				t.Errorf("%s: the digest is not the token's", r.Description)
			}
			tokens[r.Description] = token
		}
		return nil
	})
	for name, token := range tokens {
		who, err := store.Authenticate(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		project(t, store, who, w.org.Organisation, strings.ReplaceAll(name, " ", "-"))
	}
	update(t, store, func(u *postgres.Update) error { return u.DeleteTeam(t.Context(), w.owner, w.team) })
	_, err := store.Authenticate(t.Context(), tokens["ours"])
	if problem.Code(err) != api.Unauthenticated {
		t.Errorf("the token of a team that is gone: %v", err)
	}
}

// TestTokenIsNowhere: the database holds no token, and nobody makes one for others.
func TestTokenIsNowhere(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	var token identity.Token
	update(t, store, func(u *postgres.Update) (err error) {
		token, _, err = u.CreateToken(t.Context(), w.owner, postgres.TokenRequest{Owner: w.owner.ID, Expires: time.Now().Add(time.Hour)})
		return err
	})
	for _, table := range []string{"tokens", "audit_entries", "river_job"} {
		if n := count(t, conn, "SELECT count(*) FROM "+table+" x WHERE x::text LIKE '%' || $1 || '%'", token.Reveal()[9:30]); n != 0 {
			t.Errorf("%s holds the token", table)
		}
	}
	err := store.Update(t.Context(), func(u *postgres.Update) error {
		_, _, err := u.CreateToken(t.Context(), w.owner, postgres.TokenRequest{Owner: w.member.ID})
		return err
	})
	if problem.Code(err) != api.NotFound {
		t.Errorf("an owner makes a token of somebody else: %v", err)
	}
}

// TestExpired: a token is of no use from its last moment on, and the job that was
// left with it deletes it (docs/database.md, rule 9).
func TestExpired(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	var token identity.Token
	var made identity.Credential
	update(t, store, func(u *postgres.Update) (err error) {
		token, made, err = u.CreateToken(t.Context(), w.owner,
			postgres.TokenRequest{Owner: w.org.Organisation, Role: identity.Reader, Expires: time.Now().Add(300 * time.Millisecond)})
		return err
	})
	if n := count(t, conn, "SELECT count(*) FROM river_job WHERE kind = 'token_expire' AND args->>'token' = $1", made.ID); n != 1 {
		t.Fatalf("%d jobs were left with the token", n)
	}
	time.Sleep(time.Until(made.Expires))
	_, err := store.Authenticate(t.Context(), token)
	if problem.Code(err) != api.Unauthenticated || !strings.Contains(err.Error(), "expired") {
		t.Errorf("%v, want that it expired", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	worked := make(chan error)
	go func() { worked <- store.Work(ctx) }()
	for until := time.Now().Add(25 * time.Second); count(t, conn, "SELECT count(*) FROM tokens WHERE id = $1", made.ID) != 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the token is still there")
		}
	}
	stop()
	if err := <-worked; err != nil {
		t.Error(err)
	}
	log := entries(t, store, w.owner, w.org.Organisation)
	if last := log[len(log)-1]; last.Action != "token:expire" || last.Object != made.ID || last.Principal.Kind != "server" {
		t.Errorf("the last entry is %+v", last)
	}
}
