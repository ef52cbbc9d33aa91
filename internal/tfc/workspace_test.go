package tfc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// things are an organisation with a project and a workspace in it, by the names that
// stand in the patterns of routes.
func (s server) things(t *testing.T, token string) map[string]string {
	t.Helper()
	s.want(t, 201, token, "POST", "/api/v2/organizations", `{"data":{"type":"organizations","attributes":{"name":"acme","email":"ann@example.com"}}}`)
	p := s.want(t, 201, token, "POST", "/api/v2/organizations/acme/projects", `{"data":{"type":"projects","attributes":{"name":"shop"},
		"relationships":{"tag-bindings":{"data":[{"type":"tag-bindings","attributes":{"key":"team","value":"blue"}}]}}}}`)
	project := p["data"].(map[string]any)["id"].(string)
	w := s.want(t, 201, token, "POST", "/api/v2/organizations/acme/workspaces", `{"data":{"type":"workspaces","attributes":{"name":"network"},
		"relationships":{"project":{"data":{"type":"projects","id":"`+project+`"}},"tags":{"data":[{"type":"tags","attributes":{"name":"app"}}]}}}}`)
	workspace := w["data"].(map[string]any)["id"].(string)
	list := s.want(t, 200, token, "GET", "/api/v2/organizations/acme/tags", "")
	tag := list["data"].([]any)[0].(map[string]any)["id"].(string)
	return map[string]string{"organisation": "acme", "project": project, "workspace": workspace, "name": "network", "tag": tag}
}

// TestForeigner asks for everything of an organisation as the owner of another one:
// there is nothing.
func TestForeigner(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	there := s.things(t, ann)
	s.want(t, 201, bob, "POST", "/api/v2/organizations", `{"data":{"type":"organizations","attributes":{"name":"other","email":"bob@example.com"}}}`)
	tried := 0
	for _, r := range slices.Concat(organisations(), projects(), workspaces(), tags(), consumers(), locks()) {
		method, path, _ := strings.Cut(r.pattern, " ")
		for name, value := range there {
			path = strings.ReplaceAll(path, "{"+name+"}", value)
		}
		if path == "/api/v2/organizations" || strings.Contains(path, "{") {
			continue
		}
		tried++
		kind := "workspaces"
		switch {
		case strings.HasSuffix(path, "/tag-bindings"):
			kind = "tag-bindings"
		case strings.HasSuffix(path, "/tags"):
			kind = "tags"
		case strings.HasSuffix(path, "/projects"), strings.HasSuffix(path, there["project"]):
			kind = "projects"
		case strings.HasSuffix(path, "/acme"):
			kind = "organizations"
		}
		one := fmt.Sprintf(`{"type":%q,"id":%q,"attributes":{"name":"mine","key":"mine"}}`, kind, there["workspace"])
		var refused bool
		for _, data := range []string{one, "[" + one + "]"} { // some take a document, and some a list
			got := s.do(t, bob, method, path, `{"data":`+data+`}`)
			refused = refused || got.status == http.StatusNotFound
			if got.status < 400 || got.status >= 500 || bytes.Contains(got.body, []byte("network")) {
				t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
			}
		}
		if !refused {
			t.Errorf("%s %s was refused, but not because there is nothing", method, path)
		}
	}
	if tried < 30 {
		t.Errorf("only %d routes were tried", tried)
	}
	if got := s.do(t, ann, "GET", "/api/v2/workspaces/"+there["workspace"], ""); got.status != 200 || !bytes.Contains(got.body, []byte(`"tag-names":["app"]`)) {
		t.Errorf("after that: %d %s", got.status, got.body)
	}
}

// TestWorkspaceSettings: what is set is what is read, and what cannot be set is
// refused with a reason; nothing of a refused change is kept.
func TestWorkspaceSettings(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	path := "/api/v2/workspaces/" + s.things(t, ann)["workspace"]
	change := func(attributes string) reply {
		t.Helper()
		return s.do(t, ann, "PATCH", path, `{"data":{"type":"workspaces","attributes":`+attributes+`}}`)
	}
	attribute := func(r reply, name string) string {
		t.Helper()
		text, err := json.Marshal(r.doc(t)["data"].(map[string]any)["attributes"].(map[string]any)[name])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct{ change, name, want string }{
		{`{}`, "execution-mode", `"local"`},
		{`{}`, "operations", `false`},
		{`{}`, "terraform-version", `"latest"`},
		{`{"terraform-version":"1.12.6-dev"}`, "terraform-version", `"1.12.6-dev"`},
		{`{"terraform-version":"0.11.0"}`, "terraform-version", `"0.11.0"`},
		{`{"terraform-version":"~> 1.5, < 2"}`, "terraform-version", `"~\u003e 1.5, \u003c 2"`},
		{`{"operations":true}`, "execution-mode", `"remote"`},
		{`{"execution-mode":"local"}`, "operations", `false`},
		{`{"setting-overwrites":{"execution-mode":false}}`, "execution-mode", `"remote"`},
		{`{"description":null,"auto-apply":true}`, "auto-apply", `true`},
		{`{"auto-destroy-at":"2030-01-01T00:00:00Z"}`, "auto-destroy-at", `"2030-01-01T00:00:00Z"`},
		{`{"auto-destroy-at":null}`, "auto-destroy-at", `null`},
		{`{"trigger-prefixes":["/a"]}`, "trigger-prefixes", `["/a"]`},
		{`{"trigger-patterns":["/b/*"]}`, "trigger-prefixes", `[]`},
		{`{"name":"Other"}`, "name", `"Other"`},
		{`{"locked":true,"permissions":{},"created-at":"2001-01-01T00:00:00Z"}`, "locked", `false`},
	} {
		changed := change(c.change)
		if changed.status != 200 || attribute(changed, c.name) != c.want {
			t.Errorf("%s: %d %s", c.change, changed.status, changed.body)
		}
		if read := s.do(t, ann, "GET", path, ""); !bytes.Equal(read.body, changed.body) {
			t.Errorf("%s: read is %s\nbut it was answered %s", c.change, read.body, changed.body)
		}
	}
	before := s.do(t, ann, "GET", path, "")
	for _, bad := range []string{
		`{"terraform-version":"nonexisting"}`, `{"terraform-version":"1."}`, `{"terraform-version":""}`, `{"terraform-version":7}`,
		`{"execution-mode":"moon"}`, `{"execution-mode":"agent"}`, `{"agent-pool-id":"pool_1"}`, `{"operations":true,"execution-mode":"remote"}`,
		`{"name":"../etc"}`, `{"name":""}`, `{"name":"a b"}`, `{"auto-apply":"yes"}`, `{"description":"a\u0000b"}`,
		`{"description":"` + strings.Repeat("x", 70<<10) + `"}`, `{"auto-destroy-at":"tomorrow"}`, `[]`, `{"trigger-prefixes":{}}`,
	} {
		if got := change(bad); got.status != 422 && got.status != 413 && got.status != 404 {
			t.Errorf("%.60s: %d %s", bad, got.status, got.body)
		}
	}
	if after := s.do(t, ann, "GET", path, ""); !bytes.Equal(before.body, after.body) {
		t.Errorf("it was %s\nand is %s", before.body, after.body)
	}
}

// TestTags: old tags and new bindings are the same; a workspace inherits those of its
// project; both are found by their keys.
func TestTags(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	there := s.things(t, ann)
	path := "/api/v2/workspaces/" + there["workspace"]
	s.want(t, 200, ann, "PATCH", path+"/tag-bindings", `{"data":[{"type":"tag-bindings","attributes":{"key":"env","value":"dev"}}]}`)
	if got := s.do(t, ann, "POST", path+"/relationships/tags", `{"data":[{"type":"tags","attributes":{"name":"env"}}]}`); got.status != 204 {
		t.Errorf("%d %s", got.status, got.body)
	}
	pairs := func(path string) (all []string) {
		t.Helper()
		for _, d := range s.want(t, 200, ann, "GET", path, "")["data"].([]any) {
			a := d.(map[string]any)["attributes"].(map[string]any)
			all = append(all, fmt.Sprint(a["key"], "=", a["value"]))
		}
		return all
	}
	if got := pairs(path + "/tag-bindings"); !slices.Equal(got, []string{"app=", "env=dev"}) {
		t.Errorf("%q", got)
	}
	if got := pairs(path + "/effective-tag-bindings"); !slices.Equal(got, []string{"app=", "env=dev", "team=blue"}) {
		t.Errorf("%q", got)
	}
	for query, want := range map[string]int{
		"search[tags]=app,env": 1, "search[tags]=app,none": 0, "search[tags]=team": 0, "search[exclude-tags]=env": 0, "search[exclude-tags]=none": 1,
		"filter[tagged][0][key]=env&filter[tagged][0][value]=dev&filter[tagged][1][key]=app&search[tags]=env,app&TagBindings=%5B0xc000": 1,
		"filter[tagged][0][key]=env&filter[tagged][0][value]=prod":                                                                      0,
	} {
		if got := s.want(t, 200, ann, "GET", "/api/v2/organizations/acme/workspaces?"+query, "")["data"].([]any); len(got) != want {
			t.Errorf("%s: %d workspaces, want %d", query, len(got), want)
		}
	}
	for _, bad := range []string{"", "a,b", "a\\u0000", strings.Repeat("k", 200)} {
		if got := s.do(t, ann, "POST", path+"/relationships/tags", `{"data":[{"type":"tags","attributes":{"name":"`+bad+`"}}]}`); got.status != 422 {
			t.Errorf("%q: %d %s", bad, got.status, got.body)
		}
	}
}

// TestRoleForOneProject: somebody whose role is for one project finds it and what is
// in it by the organisation's name, as the clients do; and nothing else.
func TestRoleForOneProject(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	there := s.things(t, ann)
	s.want(t, 201, ann, "POST", "/api/v2/organizations/acme/workspaces", `{"data":{"type":"workspaces","attributes":{"name":"secret"}}}`)
	team := s.want(t, 201, ann, "POST", "/api/v2/organizations/acme/teams", `{"data":{"type":"teams","attributes":{"name":"blue"}}}`)["data"].(map[string]any)["id"].(string)
	s.want(t, 201, ann, "POST", "/api/v2/team-projects", `{"data":{"type":"team-projects","attributes":{"access":"admin"},"relationships":{
		"project":{"data":{"type":"projects","id":"`+there["project"]+`"}},"team":{"data":{"type":"teams","id":"`+team+`"}}}}}`)
	token := s.want(t, 201, ann, "POST", "/api/v2/teams/"+team+"/authentication-token", "")["data"].(map[string]any)["attributes"].(map[string]any)["token"].(string)
	for path, want := range map[string]int{
		"/api/v2/organizations/acme/entitlement-set":    200,
		"/api/v2/organizations/acme/workspaces/network": 200,
		"/api/v2/organizations/acme/workspaces/secret":  404,
		"/api/v2/projects/" + there["project"]:          200,
	} {
		if got := s.do(t, token, "GET", path, ""); got.status != want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	list := s.want(t, 200, token, "GET", "/api/v2/organizations/acme/workspaces?include=organization", "")
	if data := list["data"].([]any); len(data) != 1 {
		t.Errorf("it sees %v", data)
	}
	if text := fmt.Sprint(list); strings.Contains(text, "ann@example.com") {
		t.Errorf("it sees the organisation's address: %s", text)
	}
	made := s.want(t, 201, token, "POST", "/api/v2/organizations/acme/workspaces", `{"data":{"type":"workspaces","attributes":{"name":"new"},
		"relationships":{"project":{"data":{"type":"projects","id":"`+there["project"]+`"}}}}}`)
	if text := fmt.Sprint(made); strings.Contains(text, "ann@example.com") {
		t.Errorf("it sees the organisation's address: %s", text)
	}
	if got := s.do(t, token, "POST", "/api/v2/organizations/acme/workspaces", `{"data":{"type":"workspaces","attributes":{"name":"elsewhere"}}}`); got.status != 404 {
		t.Errorf("outside of it: %d %s", got.status, got.body)
	}
}
