package tfc

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// TestWideDocument: a document of a state that holds millions of values takes little
// more memory than its bytes (docs/state.md, rule 8). It does not run beside others,
// whose memory it would count.
func TestWideDocument(t *testing.T) {
	s := start(t)
	ann := s.user(t, "ann")
	workspace := s.acme(t, ann)
	const size = 16 << 20
	wide := `{"data":{"type":"state-versions","attributes":{"a":[` + strings.Repeat("{},", size/3) + `{}]}}}`
	for name, token := range map[string]string{"a stranger": s.user(t, "bob"), "who may write": ann} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := s.do(t, token, "POST", "/api/v2/workspaces/"+workspace+"/state-versions", wide)
		runtime.ReadMemStats(&after)
		if name == "a stranger" && got.status != http.StatusNotFound || got.status >= 500 || got.status < 400 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 8*size {
			t.Errorf("%s: %d MiB were allocated for %d MiB", name, took>>20, size>>20)
		}
	}
}

// TestWideDocuments: no other document is taken either that is many times as large in
// memory as it was on the way; those that hold long lists and long texts are.
func TestWideDocuments(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	workspace := "/api/v2/workspaces/" + s.acme(t, ann)
	wide := strings.Repeat("{},", 300_000) + "{}"
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/v2/organizations/acme/workspaces", `{"data":{"type":"workspaces","attributes":{"name":"wide","a":[` + wide + `]}}}`},
		{"POST", workspace + "/relationships/remote-state-consumers", `{"data":[` + wide + `]}`},
		{"POST", workspace + "/relationships/tags", `{"data":[` + wide + `]}`},
		{"POST", workspace + "/actions/lock", `{"data":[` + wide + `]}`},
	} {
		if got := s.do(t, ann, c.method, c.path, c.body); got.status != http.StatusUnprocessableEntity && got.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
		}
	}
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprintf("stk_%022d", i))
	}
	if got := s.do(t, ann, "POST", workspace+"/relationships/remote-state-consumers", references("workspaces", many...)); got.status != http.StatusNotFound {
		t.Errorf("ten thousand references: %d %s", got.status, got.body)
	}
	text := strings.Repeat(`[{\"a\",`, 20_000)
	s.expect(t, http.StatusCreated, ann, "POST", workspace+"/vars", `{"data":{"type":"vars","attributes":{"key":"k","category":"terraform","value":"`+text+`"}}}`)
}

// TestSerialIsExact: the serial that counts is the one that was sent, to the last
// digit, and one that is no whole number is none (docs/state.md, rule 4).
func TestSerialIsExact(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	workspace := "/api/v2/workspaces/" + s.acme(t, ann)
	s.expect(t, http.StatusOK, ann, "POST", workspace+"/actions/lock", "")
	send := func(serial string) reply {
		text := fmt.Appendf(nil, `{"version":4,"serial":%s,"lineage":"l","outputs":{},"resources":[]}`, serial)
		sum := md5.Sum(text)
		return s.do(t, ann, "POST", workspace+"/state-versions", fmt.Sprintf(`{"data":{"type":"state-versions","attributes":{"serial":%s,"lineage":"l","md5":%q,"state":%q}}}`,
			serial, hex.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(text)))
	}
	for _, serial := range []string{"9007199254740993", "9007199254740994", "9223372036854775807"} {
		if got := send(serial); got.status != http.StatusCreated || !strings.Contains(string(got.body), `"serial":`+serial+",") {
			t.Errorf("%s: %d %s", serial, got.status, got.body)
		}
	}
	for _, serial := range []string{"6.5", "1e300", "9223372036854775808", `"6"`, "true", "-1"} {
		if got := send(serial); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", serial, got.status, got.body)
		}
	}
}

// TestTypeIsNamed: who sends a document of another type is told which one is wanted.
func TestTypeIsNamed(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	workspace := "/api/v2/workspaces/" + s.acme(t, ann)
	for path, kind := range map[string]string{
		"/api/v2/organizations/acme/teams":         "teams",
		workspace + "/vars":                        "vars",
		workspace + "/state-versions":              "state-versions",
		workspace + "/actions/lock":                "workspaces",
		workspace + "/relationships/tags":          "tags",
		workspace + "/run-triggers":                "run-triggers",
		"/api/v2/organizations/acme/agent-pools":   "agent-pools",
		"/api/v2/organizations/acme/policy-sets":   "policy-sets",
		workspace + "/configuration-versions":      "configuration-versions",
		workspace + "/notification-configurations": "notification-configurations",
	} {
		got := s.expect(t, http.StatusUnprocessableEntity, ann, "POST", path, `{"data":{"type":"canary-4f1e"}}`)
		if said := string(got.body); !strings.Contains(said, "type is "+kind) && !strings.Contains(said, "the type "+kind) || strings.Contains(said, "canary") {
			t.Errorf("%s: %s", path, said)
		}
	}
}
