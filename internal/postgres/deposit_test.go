package postgres_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// deposit keeps one of each kind.
func (w *world) deposit(ctx context.Context, u *postgres.Update) error {
	w.deposits = map[postgres.DepositKind]postgres.Deposit{}
	org := w.org.Organisation
	for _, each := range []struct {
		kind  postgres.DepositKind
		place func() string
		name  string
	}{
		{postgres.Policy, func() string { return org }, "no-buckets"},
		{postgres.PolicySet, func() string { return org }, "all"},
		{postgres.PolicySetParameter, func() string { return w.deposits[postgres.PolicySet].ID }, "region"},
		{postgres.PolicySetVersion, func() string { return w.deposits[postgres.PolicySet].ID }, ""},
		{postgres.OAuthClient, func() string { return org }, ""},
		{postgres.Notification, func() string { return w.stack.ID }, ""},
		{postgres.Module, func() string { return org }, "private/network/aws"},
		{postgres.ModuleVersion, func() string { return w.deposits[postgres.Module].ID }, "1.2.3"},
	} {
		d := postgres.NewDeposit(each.kind, each.place())
		d.Name = each.name
		made, err := u.CreateDeposit(ctx, w.owner, d)
		if err != nil {
			return err
		}
		w.deposits[each.kind] = made
	}
	return nil
}

func (w world) depositCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	kind, id, org := postgres.PolicySet, w.deposits[postgres.PolicySet].ID, w.org.Organisation
	policies := []string{w.deposits[postgres.Policy].ID}
	return map[string]func(*postgres.Update) error{
		"Deposit":         func(u *postgres.Update) error { _, err := u.Deposit(ctx, who, kind, id); return err },
		"DepositToChange": func(u *postgres.Update) error { _, err := u.DepositToChange(ctx, who, kind, id); return err },
		"Deposits":        func(u *postgres.Update) error { _, err := u.Deposits(ctx, who, kind, org); return err },
		"CreateDeposit": func(u *postgres.Update) error {
			d := postgres.NewDeposit(kind, org)
			d.Name = "second"
			_, err := u.CreateDeposit(ctx, who, d)
			return err
		},
		"ChangeDeposit": func(u *postgres.Update) error {
			_, err := u.ChangeDeposit(ctx, who, kind, id, func(d *postgres.Deposit) error { d.Name = "third"; return nil })
			return err
		},
		"KeepUpload":    func(u *postgres.Update) error { _, err := u.KeepUpload(ctx, who, kind, id, someArchive()); return err },
		"Link":          func(u *postgres.Update) error { return u.Link(ctx, who, kind, id, "policies", policies) },
		"Unlink":        func(u *postgres.Update) error { return u.Unlink(ctx, who, kind, id, "policies", policies) },
		"DeleteDeposit": func(u *postgres.Update) error { return u.DeleteDeposit(ctx, who, kind, id) },
	}
}

// someArchive is one that is there.
func someArchive() postgres.Archive {
	return postgres.Archive{Digest: "sha256:" + strings.Repeat("a", 64), Size: 7, Present: func(context.Context) error { return nil }}
}

// TestDeposit: every kind is kept, read, changed and deleted, and each change
// stands in the audit log.
func TestDeposit(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	for _, kind := range []postgres.DepositKind{postgres.PolicySetParameter, postgres.PolicySetVersion, postgres.PolicySet, postgres.Policy,
		postgres.OAuthClient, postgres.Notification, postgres.ModuleVersion, postgres.Module} {
		made := w.deposits[kind]
		before := len(entries(t, store, w.owner, w.org.Organisation))
		var changed, read postgres.Deposit
		update(t, store, func(u *postgres.Update) (err error) {
			changed, err = u.ChangeDeposit(t.Context(), w.owner, kind, made.ID, func(d *postgres.Deposit) error {
				d.Settings, d.Secrets = json.RawMessage(`{"a": "b"}`), map[string][]byte{"token": []byte("SEALED\x00 as it were")}
				if kind == postgres.PolicySet || kind == postgres.OAuthClient {
					d.Links["projects"] = []string{w.project.Project}
				}
				return nil
			})
			if err != nil {
				return err
			}
			changed, err = u.KeepUpload(t.Context(), w.owner, kind, made.ID, someArchive())
			return err
		})
		view(t, store, func(v *postgres.View) (err error) {
			read, err = v.Deposit(t.Context(), w.owner, kind, made.ID)
			return err
		})
		if diff := cmp.Diff(changed, read); diff != "" || read.Size != 7 || read.Place != made.Place {
			t.Errorf("%s (-changed +read)\n%s", kind, diff)
		}
		update(t, store, func(u *postgres.Update) error { return u.DeleteDeposit(t.Context(), w.owner, kind, made.ID) })
		err := store.View(t.Context(), func(v *postgres.View) error {
			_, err := v.Deposit(t.Context(), w.owner, kind, made.ID)
			return err
		})
		if problem.Code(err) != api.NotFound {
			t.Errorf("%s: %v after it was deleted", kind, err)
		}
		log := entries(t, store, w.owner, w.org.Organisation)[before:]
		if len(log) != 3 || log[0].Outcome != "done" || log[1].Detail["digest"] == "" || log[0].Detail["secrets"] != "token" ||
			(log[0].Detail["projects"] == w.project.Project) != (len(read.Links) > 0) || log[2].Object != made.ID {
			t.Errorf("%s: entries %+v", kind, log)
		}
	}
}

// TestLinks: links are kept in their order and end with what they lead to; none
// leads to another organisation or to another kind of thing.
func TestLinks(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	other, abroad := found(t, store, "other")
	foreign := project(t, store, other, abroad.Organisation, "theirs")
	set := w.deposits[postgres.PolicySet]
	link := func(relation string, to ...string) error {
		return store.Update(t.Context(), func(u *postgres.Update) error {
			return u.Link(t.Context(), w.owner, postgres.PolicySet, set.ID, relation, to)
		})
	}
	second := project(t, store, w.owner, w.org.Organisation, "a second")
	if err := link("projects", second.Project, w.project.Project); err != nil {
		t.Fatal(err)
	}
	if err := link("projects", w.project.Project); err != nil {
		t.Errorf("the same once more: %v", err)
	}
	for name, err := range map[string]error{
		"of another organisation": link("projects", foreign.Project),
		"of another kind":         link("stacks", w.project.Project),
		"no id":                   link("stacks", "nonexisting"),
		"not there":               link("policies", "pol_0000000000000000000000"),
		"no links at all":         link("projects", ""),
		"no relation":             link("elephants", w.project.Project),
	} {
		if problem.Code(err) != api.NotFound {
			t.Errorf("a link to what is %s: %v", name, err)
		}
	}
	err := store.Update(t.Context(), func(u *postgres.Update) error {
		return u.Link(t.Context(), w.owner, postgres.Notification, w.deposits[postgres.Notification].ID, "users", []string{w.owner.ID, w.membership})
	})
	if err != nil {
		t.Errorf("to a member and somebody invited: %v", err)
	}
	err = store.Update(t.Context(), func(u *postgres.Update) error {
		return u.Link(t.Context(), w.owner, postgres.Notification, w.deposits[postgres.Notification].ID, "users", []string{other.ID})
	})
	if problem.Code(err) != api.NotFound {
		t.Errorf("to a user who is no member: %v", err)
	}
	links := func() []string {
		var d postgres.Deposit
		view(t, store, func(v *postgres.View) (err error) {
			d, err = v.Deposit(t.Context(), w.owner, postgres.PolicySet, set.ID)
			return err
		})
		return d.Links["projects"]
	}
	if got, want := links(), []string{second.Project, w.project.Project}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	update(t, store, func(u *postgres.Update) error { return u.DeleteProject(t.Context(), w.owner, second.Project) })
	update(t, store, func(u *postgres.Update) error {
		return u.Unlink(t.Context(), w.owner, postgres.PolicySet, set.ID, "projects", []string{second.Project})
	})
	if got := links(); !slices.Equal(got, []string{w.project.Project}) {
		t.Errorf("%v, want one", got)
	}
}

// TestDepositOfAnotherKind: an id of one kind is none of another, and nothing
// goes into a place where its kind has no business.
func TestDepositOfAnotherKind(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	for name, do := range map[string]func(*postgres.Update) error{
		"read": func(u *postgres.Update) error {
			_, err := u.Deposit(t.Context(), w.owner, postgres.Policy, w.deposits[postgres.PolicySet].ID)
			return err
		},
		"in a stack": func(u *postgres.Update) error {
			d := postgres.NewDeposit(postgres.Policy, w.stack.ID)
			d.Name = "p"
			_, err := u.CreateDeposit(t.Context(), w.owner, d)
			return err
		},
		"of no kind": func(u *postgres.Update) error {
			_, err := u.CreateDeposit(t.Context(), w.owner, postgres.NewDeposit("tok_", w.org.Organisation))
			return err
		},
	} {
		if err := store.Update(t.Context(), do); problem.Code(err) != api.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := store.Update(t.Context(), func(u *postgres.Update) error {
		d := postgres.NewDeposit(postgres.Policy, w.org.Organisation)
		d.Name = "No-Buckets"
		_, err := u.CreateDeposit(t.Context(), w.owner, d)
		return err
	})
	if problem.Code(err) != api.Conflict {
		t.Errorf("a second one with the name: %v", err)
	}
}

// TestLinksAreASet: whatever is linked, unlinked and replaced in whatever order, a
// deposit is about exactly what was said last, once each, in the order in which it
// was said.
func TestLinksAreASet(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	var there []string
	for _, name := range []string{"a", "b", "c", "d"} {
		there = append(there, project(t, store, w.owner, w.org.Organisation, name).Project)
	}
	id := w.deposits[postgres.PolicySet].ID
	rapid.Check(t, func(rt *rapid.T) {
		var want []string
		some := rapid.SliceOfN(rapid.SampledFrom(there), 0, 5)
		change := func(fn func(u *postgres.Update) error) {
			if err := store.Update(t.Context(), fn); err != nil {
				rt.Fatal(err)
			}
		}
		replace := func(to []string) {
			want = distinct(to)
			change(func(u *postgres.Update) error {
				_, err := u.ChangeDeposit(t.Context(), w.owner, postgres.PolicySet, id, func(d *postgres.Deposit) error {
					d.Links["projects"] = want
					return nil
				})
				return err
			})
		}
		replace(nil)
		rt.Repeat(map[string]func(*rapid.T){
			"link": func(rt *rapid.T) {
				to := some.Draw(rt, "to")
				want = distinct(append(want, to...))
				change(func(u *postgres.Update) error {
					return u.Link(t.Context(), w.owner, postgres.PolicySet, id, "projects", to)
				})
			},
			"unlink": func(rt *rapid.T) {
				from := some.Draw(rt, "from")
				want = slices.DeleteFunc(want, func(p string) bool { return slices.Contains(from, p) })
				change(func(u *postgres.Update) error {
					return u.Unlink(t.Context(), w.owner, postgres.PolicySet, id, "projects", from)
				})
			},
			"replace": func(rt *rapid.T) { replace(some.Draw(rt, "all")) },
			"": func(rt *rapid.T) {
				var got postgres.Deposit
				view(t, store, func(v *postgres.View) (err error) {
					got, err = v.Deposit(t.Context(), w.owner, postgres.PolicySet, id)
					return err
				})
				if !slices.Equal(got.Links["projects"], want) {
					rt.Fatalf("%v, want %v", got.Links["projects"], want)
				}
			},
		})
	})
}

// distinct is a list without what is in it already.
func distinct(all []string) (once []string) {
	for _, each := range all {
		if !slices.Contains(once, each) {
			once = append(once, each)
		}
	}
	return once
}
