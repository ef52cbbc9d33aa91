package server

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// backendOf asks the http backend for the state of the stack.
func (s running) backendOf(t *testing.T, method, token, query, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/state/acme/network"+query, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("anybody", token)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestHTTPBackend: what each request is answered (docs/state.md, rules 17 and 18).
func TestHTTPBackend(t *testing.T) {
	t.Parallel()
	s := start(t)
	const (
		first  = `{"ID":"one","Operation":"OperationTypeApply","Who":"ann@laptop"}`
		second = `{"ID":"two","Operation":"OperationTypePlan","Who":"ann@ci"}`
		v1     = `{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[]}`
		v2     = `{"version":4,"serial":2,"lineage":"l","outputs":{},"resources":[]}`
	)
	for _, step := range []struct {
		name, method, token, query, body string
		status                           int
		want                             string // in the body
	}{
		{"nobody", "GET", "", "", "", 401, "token"},
		{"another organisation's", "GET", s.bob, "", "", 404, "not_found"},
		{"no state yet", "GET", s.ann, "", "", 204, ""},
		{"nothing to delete", "DELETE", s.ann, "", "", 200, ""},
		{"without a lock", "POST", s.ann, "", v1, 409, "lock it first"},
		{"no lock at all", "LOCK", s.ann, "", "{}", 422, "no lock"},
		{"a lock that is no text", "LOCK", s.ann, "", "{\"ID\":\"one\",\"Who\":\"\xff\"}", 422, "no lock"},
		{"a lock with a zero", "LOCK", s.ann, "", `{"ID":"o\u0000ne"}`, 422, ""},
		{"locked", "LOCK", s.ann, "", first, 200, ""},
		{"locked once more", "LOCK", s.ann, "", first, 200, ""},
		{"locked twice", "LOCK", s.ann, "", second, 423, `"ann@laptop"`},
		{"with another's lock", "POST", s.ann, "?ID=two", v1, 409, "lock it first"},
		{"with no lock's id", "POST", s.ann, "", v1, 409, "lock it first"},
		{"written", "POST", s.ann, "?ID=one", v2, 200, ""},
		{"older", "POST", s.ann, "?ID=one", v1, 409, "serial 1"},
		{"no state", "POST", s.ann, "?ID=one", "[]", 422, "no JSON object"},
		{"no serial", "POST", s.ann, "?ID=one", `{"version":4,"serial":"2","lineage":"l"}`, 422, "no state"},
		{"no lineage", "POST", s.ann, "?ID=one", `{"version":4,"serial":2,"lineage":"` + strings.Repeat("l", 5000) + `"}`, 422, "no state"},
		{"read", "GET", s.ann, "", "", 200, v2},
		{"not deleted", "DELETE", s.ann, "", "", 409, "kept"},
		{"another's unlock", "UNLOCK", s.ann, "", second, 423, `"one"`},
		{"unlocked", "UNLOCK", s.ann, "", first, 200, ""},
		{"unlocked twice", "UNLOCK", s.ann, "", first, 409, "already unlocked"},
	} {
		status, body := s.backendOf(t, step.method, step.token, step.query, step.body)
		if status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%s: %d %s, want %d and %q", step.name, status, body, step.status, step.want)
		}
	}
}

// TestHTTPBackendOfTofu: the real client keeps its state here, names who is in the
// way, and breaks a lock.
func TestHTTPBackendOfTofu(t *testing.T) {
	t.Parallel()
	s := start(t)
	dir := t.TempDir()
	address := s.URL + "/state/acme/network"
	config := `
terraform {
  backend "http" {
    address        = "` + address + `"
    lock_address   = "` + address + `"
    unlock_address = "` + address + `"
    username       = "ann"
    retry_max      = 0
  }
}
resource "terraform_data" "a" { input = "one" }
output "a" { value = terraform_data.a.output }
`
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	bin, err := filepath.Abs(filepath.Join("..", "..", ".bin", "tofu"))
	if err != nil {
		t.Fatal(err)
	}
	tofu := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), bin, args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TF_HTTP_PASSWORD=" + s.ann, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1"}
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	must := func(want string, args ...string) string {
		t.Helper()
		text, err := tofu(args...)
		if err != nil || !strings.Contains(text, want) {
			t.Fatalf("tofu %s: %v\n%s", strings.Join(args, " "), err, text)
		}
		return text
	}
	must("initialized", "init", "-no-color")
	must("1 added", "apply", "-auto-approve", "-no-color")
	must(`a = "one"`, "output", "-no-color")
	old := must(`"serial":1,`, "state", "pull")
	must("Successfully", "state", "mv", "terraform_data.a", "terraform_data.b")
	if err := os.WriteFile(filepath.Join(dir, "old.tfstate"), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := tofu("state", "push", "old.tfstate"); err == nil {
		t.Errorf("an older state was pushed: %s", text)
	}
	must("", "state", "push", "-force", "old.tfstate")
	must("terraform_data.a", "state", "list")

	if status, body := s.backendOf(t, "LOCK", s.ann, "", `{"ID":"theirs","Operation":"OperationTypeApply","Who":"bob@ci"}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if text, err := tofu("plan", "-no-color"); err == nil || !strings.Contains(text, "bob@ci") {
		t.Errorf("a plan while somebody holds the lock: %v\n%s", err, text)
	}
	must("unlocked", "force-unlock", "-no-color", "-force", "theirs")
	must("No changes", "plan", "-no-color")
}

// TestBytesGone: a state whose bytes are not there is not "no state", of which a tool
// would make everything anew. It is no answer at all.
func TestBytesGone(t *testing.T) {
	t.Parallel()
	s := written(t)
	if status, body := s.backendOf(t, "GET", s.ann, "", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	for _, part := range []string{"header", "body"} {
		if err := os.RemoveAll(filepath.Join(s.dir, part)); err != nil {
			t.Fatal(err)
		}
	}
	if status, body := s.backendOf(t, "GET", s.ann, "", ""); status < 500 {
		t.Errorf("%d %s", status, body)
	}
}
