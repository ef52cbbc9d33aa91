// Package control holds the use cases of a server that are more than one guarded
// method of the store: those that join the database with artifacts, secrets, time
// and chance. What is only stored goes through [Control.View] and [Control.Update]
// as it is: permission and audit are inside those methods. Control must not know
// HTTP.
package control

import (
	"context"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// A Control answers requests. Any number of processes may have one over the same
// database and artifacts.
type Control struct {
	store     *postgres.Store
	artifacts *artifact.Store
	keys      artifact.Keys // of secrets in the database
	heavy     chan struct{} // one for each large request that is in memory
}

// New is a Control over a database, the artifacts that it refers to, and the keys
// with which secrets in it are sealed (docs/secrets.md).
func New(store *postgres.Store, artifacts *artifact.Store, keys artifact.Keys) *Control {
	return &Control{store: store, artifacts: artifacts, keys: keys, heavy: make(chan struct{}, heavyMax)}
}

// View runs fn with a view of the database (docs/database.md, rule 3).
func (c *Control) View(ctx context.Context, fn func(*postgres.View) error) error {
	return c.store.View(ctx, fn)
}

// Update runs fn in a transaction that is kept whole or not at all; it may run
// several times (docs/database.md, rule 4).
func (c *Control) Update(ctx context.Context, fn func(*postgres.Update) error) error {
	return c.store.Update(ctx, fn)
}

// UpdateStack is Update for a change of one stack, which waits for its turn before it
// begins.
func (c *Control) UpdateStack(ctx context.Context, stack string, fn func(*postgres.Update) error) error {
	return c.store.UpdateStack(ctx, stack, fn)
}

// Authenticate is who shows this text as their token.
func (c *Control) Authenticate(ctx context.Context, shown string) (identity.Principal, error) {
	if shown == "" {
		return identity.Principal{}, problem.New(api.Unauthenticated, "this needs a token").
			WithHint("run: assize login, or tofu login")
	}
	token, err := identity.ParseToken(shown)
	if err != nil {
		return identity.Principal{}, err
	}
	return c.store.Authenticate(ctx, token)
}
