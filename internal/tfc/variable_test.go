package tfc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/identity"
)

// TestVariable: a value that is not sensitive comes back as it was sent, whatever
// it is; the answer that made a variable is the one that reads it.
func TestVariable(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	vars := "/api/v2/workspaces/" + s.acme(t, ann) + "/vars"
	for i, value := range []string{`"text"`, `""`, `" \t\n"`, `"\u00fc\u4e16\ud83d\ude00"`, `"{ a = \"${b}\" }"`, `"</script>&\\"`} {
		made := s.do(t, ann, "POST", vars, variable(fmt.Sprint("key", i), value, false))
		read := s.do(t, ann, "GET", vars+"/"+made.id(t), "")
		if made.status != 201 || read.status != 200 || string(made.body) != string(read.body) {
			t.Errorf("%s: %d %s, then %d %s", value, made.status, made.body, read.status, read.body)
		}
	}
	all := s.do(t, ann, "GET", vars+"?page[size]=2", "")
	if n := len(all.doc(t)["data"].([]any)); n != 6 {
		t.Errorf("%d of 6 are listed: a client that turns no pages would miss the others", n)
	}
	if got := s.do(t, ann, "POST", vars, variable("KEY0", `"x"`, false)); got.status != 201 {
		t.Errorf("keys that differ in case are two: %d %s", got.status, got.body)
	}
}

// TestIncludedVariables: who wants the variables of a set included gets them whole,
// and nobody gets a document of which only the id is known.
func TestIncludedVariables(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	ws := s.acme(t, ann)
	set := s.do(t, ann, "POST", "/api/v2/organizations/acme/varsets", `{"data":{"type":"varsets","attributes":{"name":"s","global":false},
		"relationships":{"workspaces":{"data":[{"type":"workspaces","id":"`+ws+`"}]}}}}`).id(t)
	for _, sensitive := range []bool{true, false} {
		s.do(t, ann, "POST", "/api/v2/varsets/"+set+"/relationships/vars", variable(fmt.Sprint("k", sensitive), `"north"`, sensitive))
	}
	for path, want := range map[string]int{
		"/api/v2/varsets/" + set:                                               0,
		"/api/v2/varsets/" + set + "?include=workspaces,projects":              0,
		"/api/v2/varsets/" + set + "?include=vars,workspaces":                  2,
		"/api/v2/organizations/acme/varsets?include=vars":                      2,
		"/api/v2/workspaces/" + ws + "/varsets?include=vars":                   2,
		"/api/v2/organizations/acme/varsets?include=vars&page[number]=9":       0,
		"/api/v2/organizations/acme/varsets?include=vars&q=no-set-is-so-named": 0,
	} {
		got := s.do(t, ann, "GET", path, "")
		included, _ := got.doc(t)["included"].([]any)
		if got.status != 200 || len(included) != want || strings.Count(string(got.body), `"value":"north"`) != want/2 {
			t.Errorf("%s: %d %s, want %d included", path, got.status, got.body, want)
		}
	}
}

// TestSetsOfOthers: whoever has a role for one workspace sees which sets reach it and
// with what it is run, and neither the sets themselves nor what else they reach.
func TestSetsOfOthers(t *testing.T) {
	t.Parallel()
	s := start(t)
	owner, ann := s.person(t, "ann")
	member, bob := s.person(t, "bob")
	s.appoint(t, owner)
	ws := s.acme(t, ann)
	other := s.do(t, ann, "POST", "/api/v2/organizations/acme/workspaces", `{"data":{"type":"workspaces","attributes":{"name":"other"}}}`).id(t)
	set := s.do(t, ann, "POST", "/api/v2/organizations/acme/varsets", `{"data":{"type":"varsets","attributes":{"name":"s","global":false},
		"relationships":{"workspaces":{"data":[{"type":"workspaces","id":"`+ws+`"},{"type":"workspaces","id":"`+other+`"}]}}}}`).id(t)
	s.do(t, ann, "POST", "/api/v2/varsets/"+set+"/relationships/vars", variable("region", `"north"`, false))
	s.roleAt(t, owner, member, identity.Planner, ws)
	for path, want := range map[string]int{
		"/api/v2/workspaces/" + ws + "/all-vars": 200, "/api/v2/workspaces/" + ws + "/varsets": 200, "/api/v2/workspaces/" + ws + "/varsets?include=vars": 200, "/api/v2/workspaces/" + ws + "/vars": 200,
		"/api/v2/workspaces/" + other + "/all-vars": 404, "/api/v2/workspaces/" + other + "/varsets": 404,
		"/api/v2/varsets/" + set: 403, "/api/v2/varsets/" + set + "/relationships/vars": 403, "/api/v2/organizations/acme/varsets": 403,
		"/api/v2/organizations/acme/ssh-keys": 403,
	} {
		got := s.do(t, bob, "GET", path, "")
		if got.status != want || strings.Contains(string(got.body), other) {
			t.Errorf("%s: %d %s, want %d and nothing of the other workspace", path, got.status, got.body, want)
		}
	}
}
