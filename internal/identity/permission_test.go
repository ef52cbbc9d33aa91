package identity

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPageHoldsTheTable compares the table of permissions with the one that
// people read.
func TestPageHoldsTheTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/identity.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, m := range Permissions() {
		fmt.Fprintf(&want, "   | `%s` | %s | `%s` | %s |\n", m.Permission, level(m.Deepest), m.Least, m.Lets)
	}
	if !strings.Contains(string(page), "|---|---|---|---|\n"+want.String()+"\n") {
		t.Errorf("docs/identity.md wants this table:\n%s", want.String())
	}
}

func level(l Level) string {
	return []string{"nowhere", "organisation", "project", "stack"}[l]
}

func TestTableIsWhole(t *testing.T) {
	seen := map[Permission]bool{}
	for _, m := range Permissions() {
		if seen[m.Permission] {
			t.Errorf("%s stands in the table twice", m.Permission)
		}
		seen[m.Permission] = true
		if m.Lets == "" || m.Deepest == Nowhere || !slices.Contains(Roles(), m.Least) {
			t.Errorf("%+v is not whole", m)
		}
	}
}

func TestEachRoleMayMore(t *testing.T) {
	var before []Permission
	for _, r := range Roles() {
		set := r.Permissions()
		for _, p := range before {
			if !slices.Contains(set, p) {
				t.Errorf("%s may not %s, which the role before it may", r, p)
			}
		}
		if len(set) <= len(before) {
			t.Errorf("%s may no more than the role before it", r)
		}
		before = set
	}
	if len(before) != len(Permissions()) {
		t.Errorf("an owner may %d of %d", len(before), len(Permissions()))
	}
	for _, none := range []Role{"", "admin", "Owner"} {
		if set := none.Permissions(); len(set) > 0 {
			t.Errorf("the unknown role %q may %v", none, set)
		}
	}
}

// TestWithin: the greatest role that is contained is found, and never a greater
// one than the set allows (docs/identity.md, rule 13).
func TestWithin(t *testing.T) {
	for _, at := range []Level{Organisation, Project, Stack} {
		for _, r := range Roles() {
			if got := Within(r.Permissions(), at); got != r {
				t.Errorf("what %s may is the role %q", r, got)
			}
		}
	}
	if got := Within(nil, Stack); got != "" {
		t.Errorf("nothing is the role %s", got)
	}
	if got := Within(Owner.Permissions(), Nowhere); got != "" {
		t.Errorf("everything is the role %s nowhere", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SliceOfDistinct(rapid.SampledFrom(Owner.Permissions()), func(p Permission) Permission { return p }).Draw(t, "set")
		at := rapid.SampledFrom([]Level{Organisation, Project, Stack}).Draw(t, "at")
		role := Within(set, at)
		for _, m := range Permissions() {
			if m.Deepest >= at && slices.Contains(role.Permissions(), m.Permission) && !slices.Contains(set, m.Permission) {
				t.Fatalf("%s may also %s", role, m.Permission)
			}
		}
	})
}
