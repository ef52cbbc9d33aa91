package tfc

import (
	"net/http"
	"strings"
	"testing"
)

// TestGoneKey: a key that is deleted is assigned to nothing any more, which go-tfe's
// tests do as well: they delete a key that a workspace has, and want no error
// (docs/protocol.md, rule 33).
func TestGoneKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	workspace := "/api/v2/workspaces/" + s.things(t, ann)["workspace"]
	ids := []string{}
	for _, name := range []string{"old", "kept"} {
		k := s.want(t, 201, ann, "POST", "/api/v2/organizations/acme/ssh-keys", document("ssh-keys", map[string]any{"name": name, "value": "key"}, nil))
		ids = append(ids, k["data"].(map[string]any)["id"].(string))
	}
	assign := func(id string) {
		t.Helper()
		s.want(t, 200, ann, "PATCH", workspace+"/relationships/ssh-key", document("workspaces", map[string]any{"id": id}, nil))
	}
	assign(ids[0])
	if got := s.do(t, ann, "DELETE", "/api/v2/ssh-keys/"+ids[0], ""); got.status != http.StatusNoContent {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := s.do(t, ann, "GET", workspace, ""); got.status != 200 || strings.Contains(string(got.body), ids[0]) {
		t.Errorf("%d %s", got.status, got.body)
	}
	assign(ids[1])
	third := s.want(t, 201, ann, "POST", "/api/v2/organizations/acme/ssh-keys", document("ssh-keys", map[string]any{"name": "third", "value": "key"}, nil))
	s.do(t, ann, "DELETE", "/api/v2/ssh-keys/"+third["data"].(map[string]any)["id"].(string), "")
	if got := s.do(t, ann, "GET", workspace, ""); !strings.Contains(string(got.body), ids[1]) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestPoolInUse: a pool whose agents run something stays: what named it would be run
// by nobody, or elsewhere (docs/protocol.md, rule 33).
func TestPoolInUse(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	there := s.things(t, ann)
	p := s.want(t, 201, ann, "POST", "/api/v2/organizations/acme/agent-pools", document("agent-pools", map[string]any{"name": "pool"}, nil))
	pool := p["data"].(map[string]any)["id"].(string)
	for _, user := range []struct {
		kind, path, mode, pool string
	}{
		{"workspaces", "workspaces/" + there["workspace"], "execution-mode", "agent-pool-id"},
		{"projects", "projects/" + there["project"], "default-execution-mode", "default-agent-pool-id"},
		{"organizations", "organizations/acme", "default-execution-mode", "default-agent-pool-id"},
	} {
		attributes := map[string]any{user.mode: "agent", user.pool: pool}
		relations := map[string][2]string{}
		if user.kind == "organizations" {
			attributes, relations = map[string]any{user.mode: "agent"}, map[string][2]string{"default-agent-pool": {"agent-pools", pool}}
		}
		s.want(t, 200, ann, "PATCH", "/api/v2/"+user.path, document(user.kind, attributes, relations))
		if got := s.do(t, ann, "DELETE", "/api/v2/agent-pools/"+pool, ""); got.status != http.StatusConflict || !strings.Contains(string(got.body), "is run by it") {
			t.Errorf("%s: %d %s", user.kind, got.status, got.body)
		}
		s.want(t, 200, ann, "PATCH", "/api/v2/"+user.path, document(user.kind, map[string]any{user.mode: "local"}, nil))
	}
	if got := s.do(t, ann, "DELETE", "/api/v2/agent-pools/"+pool, ""); got.status != http.StatusNoContent {
		t.Errorf("in use no longer: %d %s", got.status, got.body)
	}
}
