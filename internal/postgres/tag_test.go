package postgres_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func (w world) tagCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	app := []postgres.Tag{{Key: "app", Value: "shop"}}
	return map[string]func(*postgres.Update) error{
		"AddTags":    func(u *postgres.Update) error { return u.AddTags(ctx, who, w.stack.ID, app) },
		"PutTags":    func(u *postgres.Update) error { return u.PutTags(ctx, who, w.project.Project, app, true) },
		"DeleteTags": func(u *postgres.Update) error { return u.DeleteTags(ctx, who, w.stack.ID, app) },
		"Words": func(u *postgres.Update) error {
			_, err := u.Words(ctx, who, w.org.Organisation, "", "")
			return err
		},
		"DeleteWords": func(u *postgres.Update) error { return u.DeleteWords(ctx, who, w.org.Organisation, []string{w.tag}) },
		"TagStacks":   func(u *postgres.Update) error { return u.TagStacks(ctx, who, w.tag, []string{w.stack.ID}) },
		"Consumers":   func(u *postgres.Update) error { _, err := u.Consumers(ctx, who, w.stack.ID); return err },
		"PutConsumers": func(u *postgres.Update) error {
			return u.PutConsumers(ctx, who, w.stack.ID, []string{w.stack.ID}, true)
		},
		"DeleteConsumers": func(u *postgres.Update) error {
			return u.DeleteConsumers(ctx, who, w.stack.ID, []string{w.stack.ID})
		},
	}
}

// TestTagsOfAnOwner: what an owner does with tags is done, and stands in the audit
// log when it changes something.
func TestTagsOfAnOwner(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	calls := w.tagCalls(t.Context(), w.owner)
	reads := []string{"Words", "Consumers"}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		before := len(entries(t, store, w.owner, w.org.Organisation))
		if err := store.Update(t.Context(), calls[name]); err != nil && name != "TagStacks" {
			t.Errorf("%s: %v", name, err)
		}
		log := entries(t, store, w.owner, w.org.Organisation)[before:]
		if name != "TagStacks" && slices.Contains(reads, name) != (len(log) == 0) {
			t.Errorf("%s: entries %+v", name, log)
		}
	}
}
