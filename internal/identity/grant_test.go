package identity

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// id is a different valid id for every n.
func id(prefix string, n byte) string { return NewID(prefix, [16]byte{15: n}) }

var (
	acme  = Scope{Organisation: id(OrganisationID, 1)}
	shop  = Scope{Organisation: acme.Organisation, Project: id(ProjectID, 1)}
	prod  = Scope{Organisation: acme.Organisation, Project: shop.Project, Stack: id(StackID, 1)}
	dev   = Scope{Organisation: acme.Organisation, Project: shop.Project, Stack: id(StackID, 2)}
	other = Scope{Organisation: acme.Organisation, Project: id(ProjectID, 2)}
	rival = Scope{Organisation: id(OrganisationID, 2)}
)

func TestAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		grants []Grant
		may    Permission
		at     Scope
		want   bool
	}{
		"at the stack itself":         {[]Grant{{Applier, prod}}, StateWrite, prod, true},
		"below the project":           {[]Grant{{Applier, shop}}, StateWrite, prod, true},
		"below the organisation":      {[]Grant{{Applier, acme}}, StateWrite, prod, true},
		"all stacks at once":          {[]Grant{{Applier, acme}}, StateWrite, acme, true},
		"the better of two":           {[]Grant{{Reader, acme}, {Applier, prod}}, StateWrite, prod, true},
		"beside it":                   {[]Grant{{Owner, dev}}, StateRead, prod, false},
		"above it":                    {[]Grant{{Owner, prod}}, StateRead, shop, false},
		"in another project":          {[]Grant{{Owner, other}}, StateRead, prod, false},
		"in another organisation":     {[]Grant{{Owner, rival}}, StateRead, prod, false},
		"too little":                  {[]Grant{{Planner, prod}}, StateWrite, prod, false},
		"a reader sees no secret":     {[]Grant{{Reader, prod}}, StateRead, prod, false},
		"no grant":                    {nil, StackRead, prod, false},
		"an unknown word":             {[]Grant{{Owner, acme}}, "state:everything", prod, false},
		"the empty word":              {[]Grant{{Owner, acme}}, "", prod, false},
		"an unknown role":             {[]Grant{{"root", acme}}, StackRead, prod, false},
		"the empty scope is asked":    {[]Grant{{Owner, acme}}, StackRead, Scope{}, false},
		"the empty scope is granted":  {[]Grant{{Owner, Scope{}}}, StackRead, prod, false},
		"a stack without its project": {[]Grant{{Owner, acme}}, StackRead, Scope{Organisation: acme.Organisation, Stack: prod.Stack}, false},
		"an id in the wrong place":    {[]Grant{{Owner, acme}}, StackRead, Scope{Organisation: acme.Organisation, Project: prod.Stack}, false},
		"a stack has no teams":        {[]Grant{{Owner, acme}}, TeamAdmin, prod, false},
		"an organisation has":         {[]Grant{{Owner, acme}}, TeamAdmin, acme, true},
	} {
		if got := Allowed(c.grants, c.may, c.at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMayGrant(t *testing.T) {
	for name, c := range map[string]struct {
		own  Grant
		give Grant
		want bool
	}{
		"an owner makes an owner":               {Grant{Owner, acme}, Grant{Owner, acme}, true},
		"a maintainer makes one of the project": {Grant{Maintainer, acme}, Grant{Maintainer, shop}, true},
		"but not of the organisation":           {Grant{Maintainer, acme}, Grant{Reader, acme}, false},
		"nor an owner of anything":              {Grant{Maintainer, acme}, Grant{Owner, prod}, false},
		"one of a stack lets others see it":     {Grant{Maintainer, prod}, Grant{Reader, prod}, true},
		"but no other stack":                    {Grant{Maintainer, prod}, Grant{Reader, dev}, false},
		"who applies gives nothing":             {Grant{Applier, acme}, Grant{Reader, prod}, false},
		"an unknown role":                       {Grant{Owner, acme}, Grant{"root", prod}, false},
		"no place":                              {Grant{Owner, acme}, Grant{Reader, Scope{}}, false},
	} {
		if got := MayGrant([]Grant{c.own}, c.give); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTeams(t *testing.T) {
	ada, bob := id(UserID, 1), id(UserID, 2)
	teams := []Team{
		{Organisation: acme.Organisation, Members: []string{ada}, Grants: []Grant{{Applier, prod}, {Owner, rival}}},
		{Organisation: rival.Organisation, Members: []string{bob}, Grants: []Grant{{Owner, acme}}},
	}
	if got := Resolve(ada, nil, teams); !slices.Equal(got, []Grant{{Applier, prod}}) {
		t.Errorf("Ada has %v", got)
	}
	own := []Grant{{Reader, acme}}
	if got := Resolve(bob, own, teams); !slices.Equal(got, own) {
		t.Errorf("Bob has %v", got)
	}
	if len(teams[0].Grants) != 2 {
		t.Error("a team's grants were changed")
	}
	if got := Resolve("", nil, teams); len(got) > 0 {
		t.Errorf("nobody has %v", got)
	}
}

func TestMember(t *testing.T) {
	grants := []Grant{{Reader, prod}, {"root", rival}}
	if !Member(grants, acme.Organisation) || Member(grants, rival.Organisation) || Member(grants, "") || Member(nil, acme.Organisation) {
		t.Error("membership is wrong")
	}
}

// scopes draws ids from few, so that scopes often meet, and any of them in any
// place, so that many are not valid.
func scopes() *rapid.Generator[Scope] {
	ids := func(prefix string) *rapid.Generator[string] {
		return rapid.SampledFrom([]string{"", id(prefix, 1), id(prefix, 2), id(prefix, 1), id(StackID, 1), prefix})
	}
	return rapid.Custom(func(t *rapid.T) Scope {
		return Scope{ids(OrganisationID).Draw(t, "organisation"), ids(ProjectID).Draw(t, "project"), ids(StackID).Draw(t, "stack")}
	})
}

func someGrants() *rapid.Generator[[]Grant] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Grant {
		return Grant{rapid.SampledFrom(append(Roles(), "", "root")).Draw(t, "role"), scopes().Draw(t, "scope")}
	}), 0, 4)
}

func words() *rapid.Generator[Permission] {
	return rapid.Custom(func(t *rapid.T) Permission {
		return rapid.SampledFrom(append(Permissions(), Meaning{Permission: "state:*"})).Draw(t, "word").Permission
	})
}

// TestAllowedProperties states what must hold whatever somebody was granted.
func TestAllowedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grants, more := someGrants().Draw(t, "grants"), someGrants().Draw(t, "more")
		p, s, inner := words().Draw(t, "word"), scopes().Draw(t, "scope"), scopes().Draw(t, "inner")
		allowed := Allowed(grants, p, s)
		if allowed && !Allowed(append(slices.Clone(grants), more...), p, s) {
			t.Fatal("one more grant took something away")
		}
		alone := slices.ContainsFunc(grants, func(g Grant) bool { return Allowed([]Grant{g}, p, s) })
		if allowed != alone {
			t.Fatal("two grants together may what neither may")
		}
		if allowed && !Member(grants, s.Organisation) {
			t.Fatal("somebody who is no member may do something")
		}
		i := slices.IndexFunc(Permissions(), func(m Meaning) bool { return m.Permission == p })
		if allowed && (i < 0 || s.Level() == Nowhere || s.Level() > Permissions()[i].Deepest) {
			t.Fatal("an unknown word, no place, or a word that means nothing there is allowed")
		}
		if allowed && s.Contains(inner) && inner.Level() <= Permissions()[i].Deepest && !Allowed(grants, p, inner) {
			t.Fatal("what holds above does not hold below")
		}
	})
}

// TestNobodyClimbs gives away all that somebody may give: the two together may
// nothing that the giver may not alone.
func TestNobodyClimbs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		own, wanted := someGrants().Draw(t, "own"), someGrants().Draw(t, "wanted")
		given := slices.DeleteFunc(slices.Clone(wanted), func(g Grant) bool { return !MayGrant(own, g) })
		p, s := words().Draw(t, "word"), scopes().Draw(t, "scope")
		if Allowed(given, p, s) && !Allowed(own, p, s) {
			t.Fatalf("%v was given by somebody who may not %s", given, p)
		}
	})
}

func TestScopesContain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := scopes().Draw(t, "a"), scopes().Draw(t, "b"), scopes().Draw(t, "c")
		if a.Contains(a) != (a.Level() != Nowhere) {
			t.Fatal("a valid scope, and no other, contains itself")
		}
		if a.Contains(b) && b.Contains(a) && a != b {
			t.Fatal("two scopes contain each other")
		}
		if a.Contains(b) && b.Contains(c) && !a.Contains(c) {
			t.Fatal("what is below is not below what is above")
		}
	})
}
