package tfc

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A tenant is an organisation with one of everything, and what each is called in
// paths: ids by the word that comes before them.
type tenant struct {
	name, token string
	ids         map[string]string
}

// newTenant makes one of everything that the protocol knows.
func newTenant(t *testing.T, w *watched, name string) tenant {
	t.Helper()
	n := tenant{name: name, token: w.user(t, "owner-of-"+name), ids: map[string]string{}}
	make := func(of, path, kind string, attributes map[string]any, relations map[string][2]string) {
		t.Helper()
		n.ids[of] = w.expect(t, http.StatusCreated, n.token, "POST", "/api/v2/"+path, document(kind, attributes, relations)).id(t)
	}
	word := func(key string) map[string]any { return map[string]any{key: name + "-thing"} }
	org := "organizations/" + name
	make("organizations", "organizations", "organizations", map[string]any{"name": name, "email": "ops@example.com"}, nil)
	make("projects", org+"/projects", "projects", word("name"), nil)
	make("workspaces", org+"/workspaces", "workspaces", word("name"), nil)
	make("source", org+"/workspaces", "workspaces", map[string]any{"name": "source"}, nil)
	make("teams", org+"/teams", "teams", word("name"), nil)
	make("organization-memberships", org+"/organization-memberships", "organization-memberships", map[string]any{"email": name + "@example.com"}, nil)
	make("authentication-tokens", "teams/"+n.ids["teams"]+"/authentication-tokens", "authentication-tokens", word("description"), nil)
	team, workspace := [2]string{"teams", n.ids["teams"]}, [2]string{"workspaces", n.ids["workspaces"]}
	make("team-workspaces", "team-workspaces", "team-workspaces", map[string]any{"access": "read"}, map[string][2]string{"team": team, "workspace": workspace})
	make("team-projects", "team-projects", "team-projects", map[string]any{"access": "read"}, map[string][2]string{"team": team, "project": {"projects", n.ids["projects"]}})
	make("varsets", org+"/varsets", "varsets", word("name"), nil)
	secret := map[string]any{"key": "k", "value": name + "-thing", "category": "terraform"}
	make("vars", "workspaces/"+workspace[1]+"/vars", "vars", secret, nil)
	make("set vars", "varsets/"+n.ids["varsets"]+"/relationships/vars", "vars", secret, nil)
	make("ssh-keys", org+"/ssh-keys", "ssh-keys", map[string]any{"name": name + "-thing", "value": "key"}, nil)
	make("run-triggers", "workspaces/"+workspace[1]+"/run-triggers", "run-triggers", nil, map[string][2]string{"sourceable": {"workspaces", n.ids["source"]}})
	make("agent-pools", org+"/agent-pools", "agent-pools", word("name"), nil)
	make("configuration-versions", "workspaces/"+workspace[1]+"/configuration-versions", "configuration-versions", nil, nil)
	make("policies", org+"/policies", "policies", map[string]any{"name": name + "-thing", "enforcement-level": "advisory"}, nil)
	make("policy-sets", org+"/policy-sets", "policy-sets", word("name"), nil)
	make("parameters", "policy-sets/"+n.ids["policy-sets"]+"/parameters", "vars", word("key"), nil)
	make("policy-set-versions", "policy-sets/"+n.ids["policy-sets"]+"/versions", "policy-set-versions", nil, nil)
	make("oauth-clients", org+"/oauth-clients", "oauth-clients", map[string]any{"name": name + "-thing", "service-provider": "github",
		"api-url": "https://example.com", "http-url": "https://example.com", "oauth-token-string": "x"}, nil)
	make("notification-configurations", "workspaces/"+workspace[1]+"/notification-configurations", "notification-configurations",
		map[string]any{"name": name + "-thing", "destination-type": "generic", "url": "https://example.com"}, nil)
	make("registry-modules", org+"/registry-modules", "registry-modules", map[string]any{"name": "module", "provider": "aws"}, nil)
	make("module version", org+"/registry-modules/private/"+name+"/module/aws/versions", "registry-module-versions", map[string]any{"version": "1.0.0"}, nil)
	n.writeState(t, w)
	n.tag(t, w)
	return n
}

// writeState gives the workspace a version, with an output and JSON.
func (n tenant) writeState(t *testing.T, w *watched) {
	t.Helper()
	workspace := "/api/v2/workspaces/" + n.ids["workspaces"]
	w.expect(t, http.StatusOK, n.token, "POST", workspace+"/actions/lock", "")
	text := []byte(`{"version":4,"serial":1,"lineage":"l","outputs":{"o":{"value":"` + n.name + `-thing","type":"string"}},"resources":[]}`)
	sum, whole := md5.Sum(text), base64.StdEncoding.EncodeToString(text)
	n.ids["state-versions"] = w.expect(t, http.StatusCreated, n.token, "POST", workspace+"/state-versions", document("state-versions",
		map[string]any{"serial": 1, "lineage": "l", "md5": hex.EncodeToString(sum[:]), "state": whole, "json-state": whole}, nil)).id(t)
	n.ids["state-version-outputs"] = outputID(n.ids["state-versions"], 0)
}

// tag gives the workspace a tag.
func (n tenant) tag(t *testing.T, w *watched) {
	t.Helper()
	w.expect(t, http.StatusNoContent, n.token, "POST", "/api/v2/workspaces/"+n.ids["workspaces"]+"/relationships/tags",
		`{"data":[{"type":"tags","attributes":{"name":"`+n.name+`-thing"}}]}`)
	tags := w.expect(t, http.StatusOK, n.token, "GET", "/api/v2/organizations/"+n.name+"/tags", "").doc(t)["data"].([]any)
	n.ids["tags"] = tags[0].(map[string]any)["id"].(string)
}

// path is the path of a route about what is the tenant's.
func (n tenant) path(r route) (method, path string) {
	method, pattern, _ := strings.Cut(r.pattern, " ")
	words := map[string]string{"{organisation}": n.name, "{name}": n.name + "-thing", "{registry}": "private", "{namespace}": n.name, "{provider}": "aws",
		"{last}": "versions", "{user}": "usr_0000000000000000000000"}
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		id, ok := n.ids[parts[i-1]]
		switch {
		case words[part] != "":
			id = words[part]
		case part == "{version}" && !ok:
			id = "1.0.0"
		case strings.HasPrefix(pattern, "/api/v2/varsets/") && part == "{variable}":
			id = n.ids["set vars"]
		}
		if strings.Contains(pattern, "registry") && part == "{name}" {
			id = "module"
		}
		parts[i] = id
	}
	return method, strings.Join(parts, "/")
}

// body is a document for a route, every relation of which leads to what is the tenant's.
func (n tenant) body(path string) string {
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	switch last {
	case "upload":
		return "package none"
	case "tag-bindings":
		return `{"data":[{"type":"tag-bindings","attributes":{"key":"mine"}}]}`
	case "tags":
		return references("tags", n.ids["tags"])
	}
	if len(parts) > 2 && parts[len(parts)-2] == "relationships" && last != "vars" && last != "ssh-key" {
		kind := map[string]string{"workspace-exclusions": "workspaces", "project-exclusions": "projects", "remote-state-consumers": "workspaces"}[last]
		if kind == "" {
			kind = last
		}
		return references(kind, n.ids[kind])
	}
	for i := len(parts) - 1; i >= 0; i-- { // the type of what the path ends with, or that before its id
		if n.ids[parts[i]] != "" || parts[i] == "authentication-token" || parts[i] == "versions" || parts[i] == "ssh-key" {
			last = parts[i]
			break
		}
	}
	kind := map[string]string{"authentication-token": "authentication-tokens", "parameters": "vars", "versions": "registry-module-versions", "ssh-key": "workspaces"}[last]
	switch {
	case strings.HasPrefix(path, "/api/v2/policy-sets/") && last == "versions":
		kind = "policy-set-versions"
	case strings.HasPrefix(path, "/api/v2/agent-pools/") && last == "authentication-tokens":
		kind = "agent-tokens"
	case last == "parameters":
		return document("vars", map[string]any{"key": "mine"}, nil)
	case kind == "":
		kind = last
	}
	return n.document(kind, len(path))
}

// document is one of a type with attributes that suit all types.
func (n tenant) document(kind string, number int) string {
	attributes := map[string]any{"name": fmt.Sprint("mine-", number), "email": fmt.Sprintf("mine-%d@example.com", number), "description": fmt.Sprint("mine ", number), "access": "write",
		"key": fmt.Sprint("k", number), "value": "v", "category": "terraform", "enforcement-level": "advisory", "service-provider": "github", "api-url": "https://example.com",
		"http-url": "https://example.com", "oauth-token-string": "x", "destination-type": "generic", "url": "https://example.com", "provider": "aws",
		"version": "2.0.0", "serial": 2, "md5": strings.Repeat("0", 32), "execution-mode": "agent", "agent-pool-id": n.ids["agent-pools"], "id": n.ids["ssh-keys"], "setting-overwrites": map[string]any{"execution-mode": true}}
	if kind == "organizations" {
		attributes = map[string]any{"email": "mine@example.com", "default-execution-mode": "agent"}
	}
	one := func(kind string) [2]string { return [2]string{kind, n.ids[kind]} }
	text := document(kind, attributes, map[string][2]string{"team": one("teams"), "workspace": one("workspaces"), "project": one("projects"), "sourceable": one("workspaces"),
		"agent-pool": one("agent-pools"), "default-agent-pool": one("agent-pools"), "ssh-key": one("ssh-keys"), "parent": one("projects"), "configurable": one("workspaces"),
		"rollback-state-version": one("state-versions"), "subscribable": one("workspaces"), "policy-set": one("policy-sets")})
	var many []string
	for relation, kind := range map[string]string{"teams": "teams", "workspaces": "workspaces", "projects": "projects", "users": "users", "policies": "policies",
		"workspace-exclusions": "workspaces", "project-exclusions": "projects", "organization-memberships": "organization-memberships",
		"allowed-workspaces": "workspaces", "allowed-projects": "projects", "excluded-workspaces": "workspaces", "tags": "tags"} {
		many = append(many, fmt.Sprintf("%q:%s", relation, references(kind, n.ids[kind])))
	}
	return strings.Replace(text, `"relationships":{`, `"relationships":{`+strings.Join(many, ",")+",", 1)
}

// rows are those of the database that speak of the tenant, apart from the audit log
// and of when a token was used.
func (n tenant) rows(t *testing.T, w *watched) map[string]string {
	t.Helper()
	mine := slices.Collect(maps.Values(n.ids))
	found := map[string]string{}
	for table, text := range w.dump(t) {
		if strings.HasPrefix(table, "audit") || strings.HasPrefix(table, "river") {
			continue
		}
		for row := range strings.SplitSeq(text, "\n") {
			if slices.ContainsFunc(mine, func(id string) bool { return len(id) > 10 && strings.Contains(row, id) }) {
				found[table+" "+used.ReplaceAllString(row, "")] = row
			}
		}
	}
	return found
}

// used matches times, of which some of a token change with its use.
var used = regexp.MustCompile(`"[0-9]{4}-[^"]*"`)

// TestTenants asks for everything that there is, of another organisation, and for
// everything of one's own with every relation to what is another's: nothing of theirs
// is answered, named or changed, and nothing of anybody's points to it (docs/protocol.md, rules 2 and 18).
func TestTenants(t *testing.T) {
	t.Parallel()
	w := watch(t)
	acme, other := newTenant(t, w, "acme"), newTenant(t, w, "other")
	before := acme.rows(t, w)
	if len(before) < 25 {
		t.Fatalf("%d rows", len(before))
	}
	ask := func(r route, path, body string) reply {
		method, _, _ := strings.Cut(r.pattern, " ")
		query := "?module_version=1.0.0&filter[workspace][id]=" + acme.ids["workspaces"] + "&filter[project][id]=" + acme.ids["projects"] +
			"&filter[organization][name]=acme&filter[workspace][name]=acme-thing&filter[run-trigger][type]=inbound"
		got := w.do(t, other.token, method, path+query, body)
		if got.status >= 500 {
			t.Errorf("%s %s %s: %d %s", method, path, body, got.status, got.body)
		}
		return got
	}
	accepted := 0
	for _, r := range routes() {
		method, path := acme.path(r)
		if _, own := other.path(r); !r.open && path != own {
			if got := ask(r, path, acme.body(path)); got.status != http.StatusNotFound {
				t.Errorf("another's %s %s: %d %s", method, path, got.status, got.body)
			}
		}
	}
	for _, r := range routes() {
		method, path := other.path(r)
		if r.open || method == "DELETE" && !strings.Contains(path, "/relationships/") || strings.Contains(path, "/actions/") {
			continue
		}
		got := ask(r, path, acme.body(path))
		if got.status < 300 {
			accepted++
		}
		for _, id := range append(slices.Collect(maps.Values(acme.ids)), "acme-thing") {
			if len(id) > 4 && strings.Contains(string(got.body), id) {
				t.Errorf("one's own %s %s tells of %s: %s", method, path, id, got.body)
			}
		}
	}
	if accepted < 90 {
		t.Errorf("only %d were accepted: the test asks for nothing that there is", accepted)
	}
	after := acme.rows(t, w)
	for row := range after {
		if _, was := before[row]; !was {
			t.Errorf("this has come to be: %s", after[row])
		}
	}
	for row := range before {
		if _, is := after[row]; !is {
			t.Errorf("this is gone: %s", before[row])
		}
	}
}
