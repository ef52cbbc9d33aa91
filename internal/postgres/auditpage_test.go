package postgres_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func (w world) auditPageCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	org := w.org.Organisation
	return map[string]func(*postgres.Update) error{
		"AuditAfter":  func(u *postgres.Update) error { _, err := u.AuditAfter(ctx, who, org, 0, 1); return err },
		"AuditBefore": func(u *postgres.Update) error { _, err := u.AuditBefore(ctx, who, org, 1, 1); return err },
	}
}

// TestAuditPages: pages in both directions are the log, cut.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	want := entries(t, store, w.owner, w.org.Organisation)
	var up, down []identity.Entry
	err := store.View(t.Context(), func(v *postgres.View) error {
		for before := int64(math.MaxInt64); before > 1; before = down[len(down)-1].Sequence {
			page, err := v.AuditBefore(t.Context(), w.owner, w.org.Organisation, before, 2)
			if err != nil {
				return err
			}
			down = append(down, page...)
		}
		for len(up) < len(want) {
			page, err := v.AuditAfter(t.Context(), w.owner, w.org.Organisation, int64(len(up)), 3)
			if err != nil {
				return err
			}
			up = append(up, page...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(down)
	for _, got := range [][]identity.Entry{up, down} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestStacksAfter: who has a role for one stack, or for one project, sees those.
func TestStacksAfter(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	update(t, store, func(u *postgres.Update) error {
		_, err := u.CreateStack(t.Context(), w.owner, postgres.Stack{Project: w.project.Project, Name: "other"})
		return err
	})
	names := func(who identity.Principal) (all []string) {
		t.Helper()
		err := store.View(t.Context(), func(v *postgres.View) error {
			found, err := v.StacksAfter(t.Context(), who, postgres.StackPage{Organisation: w.org.Organisation, Limit: 9})
			for _, s := range found {
				if s.Name == "network" || s.Name == "other" { // the world may have more
					all = append(all, s.Name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := names(w.owner); !slices.Equal(got, []string{"network", "other"}) {
		t.Errorf("the owner sees %q", got)
	}
	if got := names(w.member); got != nil {
		t.Errorf("a stranger sees %q", got)
	}
	grant(t, store, w.owner, w.member.ID, identity.Reader, identity.Scope{Organisation: w.org.Organisation, Project: w.stack.Project, Stack: w.stack.ID})
	if got := names(w.member); !slices.Equal(got, []string{"network"}) {
		t.Errorf("who has a role for one stack sees %q", got)
	}
	grant(t, store, w.owner, w.member.ID, identity.Reader, w.project)
	if got := names(w.member); !slices.Equal(got, []string{"network", "other"}) {
		t.Errorf("who has one for a project as well sees %q", got)
	}
}
