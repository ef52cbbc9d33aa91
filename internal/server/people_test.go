package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

// appoint lets a user administer the server.
func (s running) appoint(t *testing.T, user string) {
	t.Helper()
	s.update(t, func(u *postgres.Update) error { return u.Appoint(t.Context(), postgres.Server(), user, true) })
}

// done asks for what leaves nothing to say.
func (s running) done(t *testing.T, token string, in binding.Request) {
	t.Helper()
	if got := s.ask(t, token, in); got.status != http.StatusNoContent {
		t.Fatalf("%T: %d %s", in, got.status, got.body)
	}
}

// TestPeople: an organisation, a project, a team, and a colleague in it with a role on
// one stack, who then may that and nothing else.
func TestPeople(t *testing.T) {
	t.Parallel()
	s := start(t)
	if got := s.ask(t, s.ann, v1.CreateOrganisation{Name: "new"}); got.status != http.StatusForbidden {
		t.Errorf("who does not administer the server makes an organisation: %d %s", got.status, got.body)
	}
	s.appoint(t, s.who.ID)
	o := answer[v1.Organisation](t, s, s.ann, v1.CreateOrganisation{Name: "new"})
	if got := answer[v1.Organisation](t, s, s.ann, v1.ShowOrganisation{Organisation: "NEW"}); got != o {
		t.Errorf("%+v, want %+v", got, o)
	}
	networks := answer[v1.Project](t, s, s.ann, v1.CreateProject{Organisation: "new", Name: "the networks"})
	stack := answer[v1.Stack](t, s, s.ann, v1.CreateStack{Organisation: "new", Name: "prod", Project: networks.ID})
	team := answer[v1.Team](t, s, s.ann, v1.CreateTeam{Organisation: "new", Name: "operators"})
	carl := answer[v1.Member](t, s, s.ann, v1.CreateMember{Organisation: "new", Name: "carl", Teams: []string{team.ID}, Expires: time.Now().Add(time.Hour)})
	if got := answer[v1.Team](t, s, s.ann, v1.ShowTeam{Team: team.ID}).Members; len(got) != 1 || got[0].User != carl.User || got[0].Name != "carl" {
		t.Errorf("%+v", got)
	}
	if me := answer[v1.Caller](t, s, carl.Token, v1.Whoami{}); len(me.Grants) != 0 || me.SiteAdmin || me.Name != "carl" {
		t.Errorf("%+v", me)
	}
	given := answer[v1.Grant](t, s, s.ann, v1.GiveGrant{Organisation: "new", Role: "applier", Holder: team.ID, Stack: stack.ID})
	me := answer[v1.Caller](t, s, carl.Token, v1.Whoami{})
	if len(me.Grants) != 1 || me.Grants[0].Holder.Name != "operators" || me.Grants[0].Place.Stack.Name != "prod" || me.Grants[0].Place.Organisation.Name != "new" {
		t.Errorf("%+v", me)
	}
	if !slices.Contains(given.Permissions, "state:write") || slices.Contains(given.Permissions, "stack:admin") || slices.Contains(given.Permissions, "organisation:read") {
		t.Errorf("%q", given.Permissions)
	}
	if got := answer[v1.Page[v1.Grant]](t, s, carl.Token, v1.ListGrants{Organisation: "new", Stack: stack.ID}).Items; len(got) != 1 || got[0].Holder.ID != team.ID {
		t.Errorf("who sees one stack is shown %+v", got)
	}
	if got := answer[v1.Page[v1.Grant]](t, s, s.ann, v1.ListGrants{Organisation: "new", Stack: stack.ID}).Items; len(got) != 2 || got[0].Holder.Name != "owners" {
		t.Errorf("an owner is shown %+v", got)
	}
	for _, in := range []binding.Request{v1.ListMembers{Organisation: "new"}, v1.ListTeams{Organisation: "new"}, v1.ShowTeam{Team: team.ID},
		v1.GiveGrant{Organisation: "new", Role: "reader", Holder: carl.User, Stack: stack.ID}, v1.ListGrants{Organisation: "new"}} {
		if got := s.ask(t, carl.Token, in); got.status != http.StatusForbidden && got.status != http.StatusNotFound {
			t.Errorf("who has a role for one stack: %T %d %s", in, got.status, got.body)
		}
	}
	s.done(t, s.ann, v1.TakeGrant{Organisation: "new", Role: "applier", Holder: team.ID, Stack: stack.ID})
	if got := s.ask(t, s.ann, v1.TakeGrant{Organisation: "new", Role: "applier", Holder: team.ID, Stack: stack.ID}); got.status != http.StatusNotFound {
		t.Errorf("taken twice: %d %s", got.status, got.body)
	}
	invited := answer[v1.Member](t, s, s.ann, v1.InviteMember{Organisation: "new", Email: "Dora@example.com", Teams: []string{team.ID}})
	if !invited.Invited || invited.Email != "dora@example.com" || len(invited.Teams) != 1 || invited.Teams[0].Name != "operators" {
		t.Errorf("%+v", invited)
	}
	s.done(t, s.ann, v1.RemoveFromTeam{Team: team.ID, Member: invited.ID})
	s.done(t, s.ann, v1.AddToTeam{Team: team.ID, Member: invited.ID})
	s.done(t, s.ann, v1.RemoveMember{Member: invited.ID})
	s.done(t, s.ann, v1.RemoveFromTeam{Team: team.ID, Member: carl.User})
	s.done(t, s.ann, v1.AddToTeam{Team: team.ID, Member: carl.User})
	if got := answer[v1.Page[v1.Member]](t, s, s.ann, v1.ListMembers{Organisation: "new"}).Items; len(got) != 2 || got[1].Name != "carl" || got[1].Token != "" {
		t.Errorf("%+v", got)
	}
	if got := s.ask(t, s.ann, v1.DeleteProject{Project: networks.ID}); got.status != http.StatusConflict {
		t.Errorf("a project with a stack is deleted: %d %s", got.status, got.body)
	}
	s.done(t, s.ann, v1.DeleteTeam{Team: team.ID})
	s.done(t, s.ann, v1.DeleteStack{Stack: stack.ID})
	s.done(t, s.ann, v1.DeleteProject{Project: networks.ID})
	s.done(t, s.ann, v1.DeleteOrganisation{Organisation: "new"})
	if got := s.ask(t, carl.Token, v1.ShowOrganisation{Organisation: "new"}); got.status != http.StatusNotFound {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestAdministrators: they appoint each other, and the last one stays.
func TestAdministrators(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.appoint(t, s.who.ID)
	bob := answer[v1.Caller](t, s, s.bob, v1.Whoami{})
	if got := s.ask(t, s.bob, v1.AppointAdministrator{User: bob.ID}); got.status != http.StatusForbidden {
		t.Errorf("somebody appoints themselves: %d %s", got.status, got.body)
	}
	s.done(t, s.ann, v1.AppointAdministrator{User: bob.ID})
	if got := answer[v1.Page[v1.Principal]](t, s, s.bob, v1.ListAdministrators{}).Items; len(got) != 2 || got[1].ID != bob.ID {
		t.Errorf("%+v", got)
	}
	s.done(t, s.bob, v1.DismissAdministrator{User: s.who.ID})
	if got := s.ask(t, s.bob, v1.DismissAdministrator{User: bob.ID}); got.status != http.StatusConflict {
		t.Errorf("the last one is dismissed: %d %s", got.status, got.body)
	}
}

// people is what there is of people in an organisation, as text.
func (s running) people(t *testing.T, token, organisation string) string {
	t.Helper()
	var all []string
	for _, in := range []binding.Request{v1.ShowOrganisation{Organisation: organisation}, v1.ListProjects{Organisation: organisation}, v1.ListMembers{Organisation: organisation},
		v1.ListTeams{Organisation: organisation}, v1.ListGrants{Organisation: organisation}} {
		all = append(all, string(s.ask(t, token, in).body))
	}
	return strings.Join(all, "")
}

// TestTenants: an owner of another organisation, who administers the server besides,
// brings nothing of this one into theirs and changes nothing in it, whichever of the two
// a request names first (docs/api.md, rule 2).
func TestTenants(t *testing.T) {
	t.Parallel()
	s := start(t)
	bob := answer[v1.Caller](t, s, s.bob, v1.Whoami{})
	s.appoint(t, bob.ID)
	answer[v1.Grant](t, s, s.ann, v1.GiveGrant{Organisation: "acme", Role: "planner", Holder: s.team, Stack: s.stack.ID})
	mine := answer[v1.Team](t, s, s.bob, v1.CreateTeam{Organisation: "other", Name: "mine"})
	home := answer[v1.Project](t, s, s.bob, v1.CreateProject{Organisation: "other", Name: "home"})
	stack := answer[v1.Stack](t, s, s.bob, v1.CreateStack{Organisation: "other", Name: "network", Project: home.ID})
	before, own := s.people(t, s.ann, "acme"), s.people(t, s.bob, "other")
	for _, in := range []binding.Request{
		v1.ShowOrganisation{Organisation: "acme"}, v1.DeleteOrganisation{Organisation: "acme"},
		v1.ListProjects{Organisation: "acme"}, v1.CreateProject{Organisation: "acme", Name: "x"}, v1.DeleteProject{Project: s.project.ID},
		v1.ListMembers{Organisation: "acme"}, v1.InviteMember{Organisation: "acme", Email: "bob@example.com"}, v1.RemoveMember{Member: s.member},
		v1.CreateMember{Organisation: "acme", Name: "x"}, v1.CreateMember{Organisation: "other", Name: "x", Teams: []string{s.team}},
		v1.InviteMember{Organisation: "other", Email: "x@example.com", Teams: []string{s.team}},
		v1.ListTeams{Organisation: "acme"}, v1.CreateTeam{Organisation: "acme", Name: "x"}, v1.ShowTeam{Team: s.team}, v1.DeleteTeam{Team: s.team},
		v1.AddToTeam{Team: s.team, Member: bob.ID}, v1.AddToTeam{Team: mine.ID, Member: s.member},
		v1.RemoveFromTeam{Team: s.team, Member: s.member}, v1.RemoveFromTeam{Team: mine.ID, Member: s.member},
		v1.ListGrants{Organisation: "acme"}, v1.ListGrants{Organisation: "acme", Stack: stack.ID},
		v1.ListGrants{Organisation: "other", Stack: s.stack.ID}, v1.ListGrants{Organisation: "other", Project: s.project.ID},
		v1.GiveGrant{Organisation: "acme", Role: "reader", Holder: bob.ID}, v1.GiveGrant{Organisation: "acme", Role: "reader", Holder: bob.ID, Stack: s.stack.ID},
		v1.GiveGrant{Organisation: "other", Role: "reader", Holder: bob.ID, Stack: s.stack.ID}, v1.GiveGrant{Organisation: "other", Role: "reader", Holder: bob.ID, Project: s.project.ID},
		v1.GiveGrant{Organisation: "other", Role: "reader", Holder: s.team}, v1.GiveGrant{Organisation: "other", Role: "reader", Holder: s.team, Stack: stack.ID},
		v1.TakeGrant{Organisation: "acme", Role: "planner", Holder: s.team, Stack: s.stack.ID}, v1.TakeGrant{Organisation: "other", Role: "planner", Holder: s.team, Stack: s.stack.ID},
		v1.CreateToken{Owner: s.team, Description: "x"}, v1.ListTokens{Owner: s.team},
	} {
		if got := s.ask(t, s.bob, in); got.status != http.StatusNotFound {
			t.Errorf("%T %+v: %d %s", in, in, got.status, got.body)
		}
	}
	if after := s.people(t, s.ann, "acme"); after != before {
		t.Errorf("what there was:\n%s\nwhat there is:\n%s", before, after)
	}
	if after := s.people(t, s.bob, "other"); after != own {
		t.Errorf("what there was:\n%s\nwhat there is:\n%s", own, after)
	}
}

// TestGiveNoMore: whoever asks, a role is given and taken exactly when identity says
// that they may, whatever stands there already (docs/identity.md, rule 4).
func TestGiveNoMore(t *testing.T) {
	t.Parallel()
	s := start(t)
	o := answer[v1.Organisation](t, s, s.ann, v1.ShowOrganisation{Organisation: "acme"})
	names, tokens := []string{"carl", "dora", "emil"}, []string{}
	var ids []string
	for _, name := range names {
		who, token := s.user(t, name)
		ids, tokens = append(ids, who.ID), append(tokens, token)
	}
	places := []identity.Scope{{Organisation: o.ID}, {Organisation: o.ID, Project: s.project.ID}, {Organisation: o.ID, Project: s.project.ID, Stack: s.stack.ID}}
	had := map[string][]identity.Grant{} // by user
	at := func(user string, place identity.Scope) identity.Role {
		for _, g := range had[user] {
			if g.Scope == place {
				return g.Role
			}
		}
		return ""
	}
	set := func(user string, g identity.Grant) {
		had[user] = slices.DeleteFunc(had[user], func(h identity.Grant) bool { return h.Scope == g.Scope })
		if g.Role != "" {
			had[user] = append(had[user], g)
		}
	}
	given, refused := 0, 0
	try := func(fail func(string, ...any), who, whom int, g identity.Grant, take bool) {
		token, own := s.ann, []identity.Grant{{Role: identity.Owner, Scope: places[0]}}
		if who < len(names) {
			token, own = tokens[who], had[ids[who]]
		}
		project, stack := g.Scope.Project, g.Scope.Stack
		if stack != "" {
			project = ""
		}
		was := identity.Grant{Role: at(ids[whom], g.Scope), Scope: g.Scope}
		may := identity.MayGrant(own, g) && (was.Role == "" || identity.MayGrant(own, was))
		var in binding.Request = v1.GiveGrant{Organisation: "acme", Role: string(g.Role), Holder: ids[whom], Project: project, Stack: stack}
		if take {
			may = identity.MayGrant(own, g) && was.Role == g.Role
			in = v1.TakeGrant{Organisation: "acme", Role: string(g.Role), Holder: ids[whom], Project: project, Stack: stack}
		}
		got := s.ask(t, token, in)
		switch done := got.status < 300; {
		case done != may:
			fail("%+v by %+v, who may: %v: %d %s", in, own, may, got.status, got.body)
		case !done:
			refused++
		case take:
			set(ids[whom], identity.Grant{Scope: g.Scope})
		default:
			given++
			set(ids[whom], g)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		g := identity.Grant{Role: rapid.SampledFrom(identity.Roles()).Draw(rt, "role"), Scope: rapid.SampledFrom(places).Draw(rt, "place")}
		try(rt.Fatalf, rapid.IntRange(0, len(names)).Draw(rt, "who"), rapid.IntRange(0, len(names)-1).Draw(rt, "whom"), g, rapid.IntRange(0, 3).Draw(rt, "take") == 0)
	})
	// Both answers, whatever the lots were.
	try(t.Errorf, len(names), 0, identity.Grant{Role: identity.Maintainer, Scope: places[1]}, false)
	try(t.Errorf, 0, 1, identity.Grant{Role: identity.Owner, Scope: places[1]}, false)
	if given == 0 {
		t.Error("nothing was given")
	}
	t.Logf("%d given, %d refused", given, refused)
}

// TestManyGrants: a list of roles comes in pages, each role on one of them.
func TestManyGrants(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i := range 7 {
		team := answer[v1.Team](t, s, s.ann, v1.CreateTeam{Organisation: "acme", Name: fmt.Sprint("t", i)})
		answer[v1.Grant](t, s, s.ann, v1.GiveGrant{Organisation: "acme", Role: "reader", Holder: team.ID, Stack: s.stack.ID})
	}
	seen := map[string]int{}
	in := v1.ListGrants{Organisation: "acme", Paging: v1.Paging{Limit: 3}}
	for {
		page := answer[v1.Page[v1.Grant]](t, s, s.ann, in)
		for _, g := range page.Items {
			text, err := json.Marshal(g)
			if err != nil {
				t.Fatal(err)
			}
			seen[string(text)]++
		}
		if in.Cursor = page.Next; in.Cursor == "" {
			break
		}
	}
	for text, n := range seen {
		if n != 1 {
			t.Errorf("%d times: %s", n, text)
		}
	}
	if len(seen) != 9 { // and the owners, and a token
		t.Errorf("%d roles", len(seen))
	}
}
