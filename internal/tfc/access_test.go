package tfc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

// document is a JSON:API document.
func document(kind string, attributes map[string]any, relations map[string][2]string) string {
	related := map[string]any{}
	for name, to := range relations {
		related[name] = map[string]any{"data": map[string]any{"type": to[0], "id": to[1]}}
	}
	text, err := json.Marshal(map[string]any{"data": map[string]any{"type": kind, "attributes": attributes, "relationships": related}})
	if err != nil {
		panic(err) // of a test's own
	}
	return string(text)
}

// references is a list of identifiers.
func references(kind string, ids ...string) string {
	var all []string
	for _, id := range ids {
		all = append(all, fmt.Sprintf(`{"type":%q,"id":%q}`, kind, id))
	}
	return `{"data":[` + strings.Join(all, ",") + `]}`
}

// want does a request that must end with this status, and returns its document.
func (s server) want(t *testing.T, status int, token, method, path, body string) map[string]any {
	t.Helper()
	got := s.do(t, token, method, path, body)
	if got.status != status {
		t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, got.status, got.body, status)
	}
	if len(got.body) == 0 {
		return nil
	}
	return got.doc(t)
}

func id(doc map[string]any) string { return doc["data"].(map[string]any)["id"].(string) }

func attribute(doc map[string]any, name string) any {
	return doc["data"].(map[string]any)["attributes"].(map[string]any)[name]
}

// TestCustomAccess: what flags come to (docs/identity.md, rule 13).
func TestCustomAccess(t *testing.T) {
	t.Parallel()
	stack := func(runs, variables, state string, locking, overrides bool) stackFlags {
		return stackFlags{workFlags{Runs: runs, Variables: variables, StateVersions: state, SentinelMocks: "none", PolicyOverrides: overrides}, locking}
	}
	for want, flags := range map[identity.Role][]stackFlags{
		"":               {stack("read", "write", "none", true, true), {workFlags: noWork()}},
		identity.Reader:  {stack("read", "none", "read-outputs", false, false), stack("read", "write", "write", true, true), stack("apply", "none", "write", true, true), stack("apply", "write", "write", false, true)},
		identity.Planner: {stack("plan", "read", "read", true, false), stack("plan", "write", "write", true, true), stack("apply", "write", "read", true, true)},
		identity.Applier: {stack("apply", "read", "write", true, false), stack("apply", "write", "write", true, true)},
	} {
		for _, f := range flags {
			if got := identity.Within(f.allow(f.Locking), identity.Stack); got != want {
				t.Errorf("%+v is %q, want %q", f, got, want)
			}
		}
	}
	all := customProject{projectFlags{Settings: "delete", Teams: "manage", VariableSets: "write"},
		projectStackFlags{workFlags: workOf(adminLevel), Create: true, Locking: true, Move: true, Delete: true}}
	if got := identity.Within(all.allow(), identity.Project); got != identity.Maintainer {
		t.Errorf("everything at a project is %q", got)
	}
	for name, less := range map[string]func(*customProject){
		"settings": func(f *customProject) { f.Project.Settings = "update" }, "teams": func(f *customProject) { f.Project.Teams = "read" },
		"create": func(f *customProject) { f.Workspace.Create = false }, "delete": func(f *customProject) { f.Workspace.Delete = false },
		"move": func(f *customProject) { f.Workspace.Move = false }, "overrides": func(f *customProject) { f.Workspace.PolicyOverrides = false },
	} {
		f := all
		less(&f)
		if got := identity.Within(f.allow(), identity.Project); got != identity.Applier {
			t.Errorf("all but %s is %q", name, got)
		}
	}
}

// TestOrganisationAccess: what a team's flags for its whole organisation come to
// (docs/identity.md, rule 14).
func TestOrganisationAccess(t *testing.T) {
	t.Parallel()
	every, err := teamFlagsOf(postgres.Access{Holding: postgres.Holding{Grant: identity.Grant{Role: identity.Owner}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags teamFlags
		want  identity.Role
	}{
		{teamFlags{}, ""},
		{teamFlags{ReadWorkspaces: true}, ""},
		{teamFlags{ManageTeams: true, ManageMembership: true, ManageAccess: true, ManagePolicies: true}, ""},
		{teamFlags{ReadWorkspaces: true, ReadProjects: true}, identity.Reader},
		{teamFlags{ManageWorkspaces: true, ReadProjects: true}, identity.Applier},
		{teamFlags{ManageWorkspaces: true, ManageProjects: true}, identity.Applier},
		{teamFlags{ManageWorkspaces: true, ManageProjects: true, ManagePolicyOverrides: true}, identity.Maintainer},
		{every, identity.Maintainer},
	} {
		if got := identity.Within(c.flags.allow(), identity.Organisation); got != c.want {
			t.Errorf("%+v is %q, want %q", c.flags, got, c.want)
		}
	}
	// A role that was given as such shows as flags that come to no more than it.
	for _, role := range identity.Roles() {
		flags, err := teamFlagsOf(postgres.Access{Holding: postgres.Holding{Grant: identity.Grant{Role: role}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := identity.Within(flags.allow(), identity.Organisation); slices.Index(identity.Roles(), got) > slices.Index(identity.Roles(), role) {
			t.Errorf("%s shows as flags of %s", role, got)
		}
	}
}

// TestTokens: each sort of token is shown once, is one that works, and is refused
// when it has expired or was revoked; somebody else's is not there.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	s.want(t, http.StatusCreated, ann, "POST", "/api/v2/organizations", document("organizations", map[string]any{"name": "acme"}, nil))
	s.want(t, http.StatusCreated, bob, "POST", "/api/v2/organizations", document("organizations", map[string]any{"name": "other"}, nil))
	team := id(s.want(t, http.StatusCreated, ann, "POST", "/api/v2/organizations/acme/teams", document("teams", map[string]any{"name": "ops"}, nil)))
	me := id(s.want(t, http.StatusOK, ann, "GET", "/api/v2/account/details", ""))
	for name, path := range map[string]string{
		"user": "/api/v2/users/" + me + "/authentication-tokens", "organisation": "/api/v2/organizations/acme/authentication-token",
		"team": "/api/v2/teams/" + team + "/authentication-token", "named": "/api/v2/teams/" + team + "/authentication-tokens",
	} {
		soon := time.Now().Add(1500 * time.Millisecond)
		body := document("authentication-tokens", map[string]any{"expired-at": soon, "description": name}, nil)
		if got := s.do(t, bob, "POST", path, body); got.status != http.StatusNotFound {
			t.Errorf("%s: somebody else made one: %d %s", name, got.status, got.body)
		}
		made := s.want(t, http.StatusCreated, ann, "POST", path, body)
		token := attribute(made, "token").(string)
		for _, where := range []string{"/api/v2/authentication-tokens/" + id(made), path, "/api/v2/organizations/acme/team-tokens"} {
			if got := s.do(t, ann, "GET", where, ""); strings.Contains(string(got.body), token[9:20]) || got.status != http.StatusOK {
				t.Errorf("%s: %s is %d %s", name, where, got.status, got.body)
			}
		}
		for _, method := range []string{"GET", "DELETE"} {
			if got := s.do(t, bob, method, "/api/v2/authentication-tokens/"+id(made), ""); got.status != http.StatusNotFound {
				t.Errorf("%s: %s by somebody else: %d %s", name, method, got.status, got.body)
			}
		}
		s.want(t, http.StatusOK, token, "GET", "/api/v2/account/details", "")
		time.Sleep(time.Until(soon))
		if got := s.do(t, token, "GET", "/api/v2/account/details", ""); got.status != http.StatusUnauthorized {
			t.Errorf("%s: an expired token: %d %s", name, got.status, got.body)
		}
		made = s.want(t, http.StatusCreated, ann, "POST", path, document("authentication-tokens", map[string]any{"description": "2"}, nil))
		s.want(t, http.StatusNoContent, ann, "DELETE", "/api/v2/authentication-tokens/"+id(made), "")
		if got := s.do(t, attribute(made, "token").(string), "GET", "/api/v2/account/details", ""); got.status != http.StatusUnauthorized {
			t.Errorf("%s: a revoked token: %d %s", name, got.status, got.body)
		}
	}
	if got := s.do(t, ann, "POST", "/api/v2/organizations/acme/authentication-token?token=audit-trails", ""); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a token of a kind that there is not: %d %s", got.status, got.body)
	}
}

// TestSingleToken: the one token of a team that has no name is replaced by the next.
func TestSingleToken(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	s.want(t, http.StatusCreated, ann, "POST", "/api/v2/organizations", document("organizations", map[string]any{"name": "acme"}, nil))
	team := id(s.want(t, http.StatusCreated, ann, "POST", "/api/v2/organizations/acme/teams", document("teams", map[string]any{"name": "ops"}, nil)))
	for _, path := range []string{"/api/v2/teams/" + team, "/api/v2/organizations/acme"} {
		first := s.want(t, http.StatusCreated, ann, "POST", path+"/authentication-token", "")
		second := s.want(t, http.StatusCreated, ann, "POST", path+"/authentication-token", "")
		if got := s.do(t, attribute(first, "token").(string), "GET", "/api/v2/account/details", ""); got.status != http.StatusUnauthorized {
			t.Errorf("%s: the token that was replaced: %d", path, got.status)
		}
		if got := id(s.want(t, http.StatusOK, ann, "GET", path+"/authentication-token", "")); got != id(second) {
			t.Errorf("%s: it is %s, want %s", path, got, id(second))
		}
	}
}

// TestOtherOrganisation: to the owner of another organisation, nothing is there that
// any of these routes could name, whatever they send.
func TestOtherOrganisation(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	org := func(token, name string) {
		s.want(t, http.StatusCreated, token, "POST", "/api/v2/organizations", document("organizations", map[string]any{"name": name}, nil))
	}
	org(ann, "acme")
	org(bob, "other")
	made := func(path, kind string, attributes map[string]any, relations map[string][2]string) string {
		return id(s.want(t, http.StatusCreated, ann, "POST", "/api/v2/"+path, document(kind, attributes, relations)))
	}
	team := made("organizations/acme/teams", "teams", map[string]any{"name": "ops"}, nil)
	workspace := made("organizations/acme/workspaces", "workspaces", map[string]any{"name": "net"}, nil)
	place := map[string][2]string{"team": {"teams", team}, "workspace": {"workspaces", workspace}}
	ids := map[string]string{
		"organisation": "acme", "team": team, "user": id(s.want(t, http.StatusOK, ann, "GET", "/api/v2/account/details", "")),
		"token":      made("teams/"+team+"/authentication-tokens", "authentication-tokens", map[string]any{"description": "ci"}, nil),
		"membership": made("organizations/acme/organization-memberships", "organization-memberships", map[string]any{"email": "x@example.com"}, nil),
		"access":     made("team-workspaces", "team-workspaces", map[string]any{"access": "read"}, place),
	}
	for _, r := range slices.Concat(teams(), members(), memberships(), teamAccesses(), teamProjectAccesses(), tokens()) {
		method, path, _ := strings.Cut(r.pattern, " ")
		for name, id := range ids {
			path = strings.ReplaceAll(path, "{"+name+"}", id)
		}
		attributes := map[string]any{"access": "read", "name": "mine", "email": "y@example.com"}
		place["project"] = [2]string{"projects", "prj_0000000000000000000000"}
		body := document(kindOf(path), attributes, place)
		switch {
		case strings.HasSuffix(path, "relationships/users"):
			body = references("users", ids["user"])
		case strings.HasSuffix(path, "relationships/organization-memberships"):
			body = references("organization-memberships", ids["membership"])
		}
		if got := s.do(t, bob, method, path+"?filter[workspace][id]="+workspace, body); got.status != http.StatusNotFound {
			t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
		}
	}
}

// An estate is an organisation with everything that somebody could want more of.
type estate struct {
	server
	name    string
	org     identity.Scope
	scopes  []identity.Scope // all places of it, and another organisation
	ids     map[string][]string
	tokens  []string // of those who try
	persons []identity.Principal
}

// A chooser says which of n to take. A property asks rapid; an example takes the first.
type chooser func(what string, n int) int

func atRandom(rt *rapid.T) chooser {
	return func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, what) }
}

func theFirst(string, int) int { return 0 }

func pick[T any](choose chooser, what string, from ...T) T { return from[choose(what, len(from))] }

// newEstate is one in which two persons have the roles that an owner gave them, one
// by a team, and in which there is more to have for both.
func newEstate(t *testing.T, choose chooser, s server, n int) estate {
	t.Helper()
	e := estate{server: s, name: fmt.Sprintf("acme-%d", n), ids: map[string][]string{}}
	ctx := t.Context()
	owner := postgres.NewUser(fmt.Sprintf("owner-%d", n))
	for i := range 2 {
		who, token := s.person(t, fmt.Sprintf("who-%d-%d", n, i))
		e.persons, e.tokens = append(e.persons, who), append(e.tokens, token)
	}
	role := func() identity.Role {
		return pick(choose, "role", identity.Maintainer, identity.Applier, identity.Planner, identity.Reader)
	}
	err := s.store.Update(ctx, func(u *postgres.Update) error {
		e.ids, e.scopes = map[string][]string{}, nil
		if err := errorsOf(u.Register(ctx, owner), u.Appoint(ctx, postgres.Server(), owner.ID, true)); err != nil {
			return err
		}
		o, err := u.CreateOrganisation(ctx, owner, e.name)
		if err != nil {
			return err
		}
		other, err := u.CreateOrganisation(ctx, owner, "other-"+e.name)
		if err != nil {
			return err
		}
		e.org = identity.Scope{Organisation: o.ID}
		e.scopes = []identity.Scope{e.org, {Organisation: other.ID}}
		var projects []identity.Scope
		for _, name := range []string{"one", "two"} {
			p, err := u.CreateProject(ctx, owner, o.ID, name)
			if err != nil {
				return err
			}
			stack, err := u.CreateStack(ctx, owner, postgres.Stack{Project: p.ID, Name: name})
			if err != nil {
				return err
			}
			projects = append(projects, identity.Scope{Organisation: o.ID, Project: p.ID})
			e.scopes = append(e.scopes, projects[len(projects)-1], place(stack))
			e.ids["project"], e.ids["workspace"] = append(e.ids["project"], p.ID), append(e.ids["workspace"], stack.ID)
		}
		team, err := u.CreateTeam(ctx, owner, o.ID, "team")
		if err != nil {
			return err
		}
		grants := []postgres.Holding{
			{Holder: e.persons[0].ID, Grant: identity.Grant{Role: role(), Scope: pick(choose, "scope", e.scopes[2:]...)}},
			{Holder: team.ID, Grant: identity.Grant{Role: role(), Scope: pick(choose, "scope of a team", slices.Concat(e.scopes[2:], []identity.Scope{e.org, e.org, e.org})...)}},
		}
		for _, g := range grants {
			if err := u.Grant(ctx, owner, g.Holder, g.Grant); err != nil {
				return err
			}
		}
		if err := u.AddMember(ctx, owner, team.ID, e.persons[1].ID); err != nil {
			return err
		}
		return e.treasure(ctx, u, owner)
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// treasure notes what there is to take: the owners' team and its token, an
// invitation to it, memberships, and what teams may.
func (e *estate) treasure(ctx context.Context, u *postgres.Update, owner identity.Principal) error {
	teams, err := u.Teams(ctx, owner, e.org.Organisation)
	if err != nil {
		return err
	}
	for _, t := range teams {
		e.ids["team"], e.ids["access"] = append(e.ids["team"], t.ID), append(e.ids["access"], t.Access.ID)
		_, made, err := u.CreateToken(ctx, owner, postgres.TokenRequest{Owner: t.ID})
		if err != nil {
			return err
		}
		e.ids["token"] = append(e.ids["token"], made.ID)
		if t.Name == "owners" {
			if _, err := u.Invite(ctx, owner, e.org.Organisation, "boss@example.com", []string{t.ID}); err != nil {
				return err
			}
		}
	}
	for _, at := range e.scopes {
		all, err := u.Accesses(ctx, owner, at)
		if err != nil {
			return err
		}
		for _, a := range all {
			e.ids["access"] = append(e.ids["access"], a.ID)
		}
	}
	members, err := u.Memberships(ctx, owner, e.org.Organisation)
	for _, m := range members {
		e.ids["membership"] = append(e.ids["membership"], m.ID)
	}
	e.ids["organisation"] = []string{e.name, "other-" + e.name}
	e.ids["user"] = []string{owner.ID, e.persons[0].ID, e.persons[1].ID}
	return err
}

// powers is all that somebody with one of the tokens may, and where.
func (e estate) powers(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, token := range e.tokens {
		shown, err := identity.ParseToken(token)
		if err != nil {
			t.Fatal(err)
		}
		who, err := e.store.Authenticate(t.Context(), shown)
		if err != nil {
			continue // revoked
		}
		err = e.store.View(t.Context(), func(v *postgres.View) error {
			grants, err := v.OwnGrants(t.Context(), who)
			for _, m := range identity.Permissions() {
				for _, at := range e.scopes {
					if identity.Allowed(grants, m.Permission, at) {
						all[fmt.Sprint(m.Permission, " at ", at)] = true
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// try does one request that could give somebody more, and notes what came of it.
func (e *estate) try(t *testing.T, choose chooser, routes []route) reply {
	t.Helper()
	one := func(of string) string { return pick(choose, of, e.ids[of]...) }
	r := pick(choose, "route", routes...)
	method, path, _ := strings.Cut(r.pattern, " ")
	for name := range e.ids {
		if strings.Contains(path, "{"+name+"}") {
			path = strings.ReplaceAll(path, "{"+name+"}", one(name))
		}
	}
	level := pick(choose, "level", readLevel, planLevel, writeLevel, maintainLevel, adminLevel, customLevel)
	attributes := map[string]any{
		"access": level, "name": fmt.Sprintf("n%d", len(e.ids["team"])), "description": fmt.Sprintf("d%d", len(e.ids["token"])),
		"organization-access": teamFlags{ManageWorkspaces: true, ManageProjects: true, ManagePolicyOverrides: true, ManagePolicies: true, ManageTeams: true},
		"email":               "boss@example.com", "allow-member-token-management": true,
	}
	if level == customLevel {
		maps.Copy(attributes, map[string]any{"runs": "apply", "variables": "write", "state-versions": "write", "workspace-locking": true, "policy-overrides": true,
			"project-access":   map[string]any{"settings": "delete", "teams": "manage"},
			"workspace-access": projectStackFlags{workFlags: workOf(adminLevel), Create: true, Locking: true, Move: true, Delete: true}})
	}
	body := document(kindOf(path), attributes, map[string][2]string{
		"team": {"teams", one("team")}, "workspace": {"workspaces", one("workspace")}, "project": {"projects", one("project")}})
	switch {
	case strings.HasSuffix(path, "relationships/users"):
		body = references("users", one("user"))
	case strings.HasSuffix(path, "relationships/organization-memberships"):
		body = references("organization-memberships", one("membership"))
	case strings.HasSuffix(path, "organization-memberships"):
		body = fmt.Sprintf(`{"data":{"type":"organization-memberships","attributes":{"email":"x%d@example.com"},"relationships":{"teams":%s}}}`,
			len(e.ids["membership"]), references("teams", one("team")))
	}
	query := fmt.Sprintf("?filter[workspace][id]=%s&filter[project][id]=%s", one("workspace"), one("project"))
	got := e.do(t, pick(choose, "who", e.tokens...), method, path+query, body)
	if got.status == http.StatusCreated {
		e.keep(got.doc(t))
	}
	return got
}

// kindOf is the type of the documents of a path.
func kindOf(path string) string {
	for part, kind := range map[string]string{"organizations/acme/organization-memberships": "organization-memberships", "team-workspaces": "team-workspaces", "team-projects": "team-projects", "authentication-token": "authentication-tokens",
		"account": "users"} {
		if strings.Contains(path, part) {
			return kind
		}
	}
	return "teams"
}

// keep notes what was made, for later requests.
func (e *estate) keep(doc map[string]any) {
	of := map[string]string{"teams": "team", "team-workspaces": "access", "team-projects": "access", "authentication-tokens": "token",
		"organization-memberships": "membership"}[doc["data"].(map[string]any)["type"].(string)]
	e.ids[of] = append(e.ids[of], id(doc))
	if of == "token" {
		e.tokens = append(e.tokens, attribute(doc, "token").(string))
	}
}

// TestNobodyRaisesThemselves: two who are no owners do whatever they can think of,
// each with all the tokens that they get hold of, and never can either of them do
// what an owner has given to neither (docs/identity.md, rule 4).
func TestNobodyRaisesThemselves(t *testing.T) {
	t.Parallel()
	s := start(t)
	routes := slices.DeleteFunc(slices.Concat(users(), teams(), members(), members(), memberships(), teamAccesses(), teamAccesses(), teamProjectAccesses(), teamProjectAccesses(), tokens()),
		func(r route) bool { return strings.HasPrefix(r.pattern, "GET ") }) // those that there are few of, twice
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		e := newEstate(t, atRandom(rt), s, n)
		given := e.powers(t)
		for range rapid.IntRange(1, 20).Draw(rt, "requests") {
			got := e.try(t, atRandom(rt), routes)
			if got.status >= 500 {
				rt.Fatalf("%d %s", got.status, got.body)
			}
			if more := e.powers(t); !maps.Equal(more, given) {
				for power := range more {
					if !given[power] {
						rt.Fatalf("after %d %s somebody also may %s", got.status, got.body, power)
					}
				}
			}
		}
	})
}

// TestSomebodyGives: the requests of TestNobodyRaisesThemselves are such as are heard.
// A maintainer gives teams what they have themselves, at their stack and project.
func TestSomebodyGives(t *testing.T) {
	t.Parallel()
	s := start(t)
	e := newEstate(t, theFirst, s, 1)
	for _, r := range slices.Concat(teamAccesses(), teamProjectAccesses()) {
		if !strings.HasPrefix(r.pattern, "POST ") {
			continue
		}
		if got := e.try(t, theFirst, []route{r}); got.status != http.StatusCreated || !strings.Contains(string(got.body), `"access":"read"`) {
			t.Errorf("%s: %d %s", r.pattern, got.status, got.body)
		}
	}
}

// TestFewerFlagsNeverMore: who is allowed less, piece by piece, never has a greater
// role for it.
func TestFewerFlagsNeverMore(t *testing.T) {
	t.Parallel()
	word := func(rt *rapid.T, words []string, name string) (less, more string) {
		a, b := rapid.IntRange(0, len(words)-1).Draw(rt, name), rapid.IntRange(0, len(words)-1).Draw(rt, name)
		return words[min(a, b)], words[max(a, b)]
	}
	rapid.Check(t, func(rt *rapid.T) {
		var less, more customProject
		l, m := &less.Workspace, &more.Workspace
		l.Runs, m.Runs = word(rt, runsWords, "runs")
		l.Variables, m.Variables = word(rt, variablesWords, "variables")
		l.StateVersions, m.StateVersions = word(rt, stateWords, "state")
		less.Project.Settings, more.Project.Settings = word(rt, settingsWords, "settings")
		less.Project.Teams, more.Project.Teams = word(rt, teamsWords, "teams")
		for i, flag := range [][2]*bool{{&l.PolicyOverrides, &m.PolicyOverrides}, {&l.Create, &m.Create}, {&l.Locking, &m.Locking}, {&l.Move, &m.Move}, {&l.Delete, &m.Delete}} {
			*flag[1] = rapid.Bool().Draw(rt, fmt.Sprint("flag ", i))
			*flag[0] = *flag[1] && rapid.Bool().Draw(rt, fmt.Sprint("fewer ", i))
		}
		rank := func(allowed []identity.Permission, at identity.Level) int {
			return slices.Index(identity.Roles(), identity.Within(allowed, at))
		}
		if rank(less.allow(), identity.Project) > rank(more.allow(), identity.Project) ||
			rank(l.allow(l.Locking), identity.Stack) > rank(m.allow(m.Locking), identity.Stack) {
			rt.Fatalf("%+v is more than %+v", less, more)
		}
	})
}
