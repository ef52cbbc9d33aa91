package tfc

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/identity"
)

// module makes one and uploads a version of it.
func (s server) module(t *testing.T, token, organisation, version string, files map[string]string) {
	t.Helper()
	path := "/api/v2/organizations/" + organisation + "/registry-modules"
	s.do(t, token, "POST", path, `{"data":{"type":"registry-modules","attributes":{"name":"network","provider":"null"}}}`)
	made := s.expect(t, http.StatusCreated, token, "POST", path+"/private/"+organisation+"/network/null/versions",
		fmt.Sprintf(`{"data":{"type":"registry-module-versions","attributes":{"version":%q}}}`, version))
	s.expect(t, http.StatusOK, "", "PUT", made.uploadPath(t), archive(t, files))
}

// tofu runs a command of the real client in a directory, with its registries on
// our server and this token for them.
func (s server) tofu(t *testing.T, dir, token string, args ...string) (string, error) {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", ".bin", "tofu"))
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "tofurc")
	text := fmt.Sprintf("host \"registry.example.com\" {\n  services = { \"modules.v1\" = \"%s%s\" }\n}\n"+
		"credentials \"registry.example.com\" {\n  token = %q\n}\n", s.URL, modulesPath, token)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + config, "CHECKPOINT_DISABLE=1"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestTofuUsesAModule: the real tofu finds the newest version that fits, downloads
// it without its token, and uses it; who may not see the module cannot
// (docs/protocol.md, rule 28).
func TestTofuUsesAModule(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob, eve := s.user(t, "ann"), s.user(t, "bob"), s.user(t, "eve")
	s.organisation(t, ann, "acme")
	s.join(t, ann, bob, "acme", identity.Reader, false)
	for _, version := range []string{"1.0.0", "1.2.0", "2.0.0"} {
		s.module(t, ann, "acme", version, map[string]string{"main.tf": fmt.Sprintf("output \"version\" {\n  value = %q\n}\n", version),
			"deep/main.tf": fmt.Sprintf("output \"version\" {\n  value = \"deep %s\"\n}\n", version)})
	}
	s.expect(t, http.StatusCreated, ann, "POST", "/api/v2/registry-modules/acme/network/null/versions",
		`{"data":{"type":"registry-module-versions","attributes":{"version":"1.9.0"}}}`) // never uploaded
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(`
module "network" {
  source  = "registry.example.com/acme/network/null"
  version = "~> 1.0"
}
module "deep" {
  source  = "registry.example.com/acme/network/null//deep"
  version = "2.0.0"
}
output "versions" {
  value = [module.network.version, module.deep.version]
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := s.expect(t, http.StatusOK, "", "GET", "/.well-known/terraform.json", "").doc(t); found["modules.v1"] != modulesPath {
		t.Errorf("discovery says %v", found)
	}
	if out, err := s.tofu(t, dir, eve, "init", "-no-color"); err == nil {
		t.Errorf("a stranger gets the module:\n%s", out)
	}
	if out, err := s.tofu(t, dir, "nonsense", "init", "-no-color"); err == nil || !strings.Contains(out, "401 Unauthorized") {
		t.Errorf("without a token: %v\n%s", err, out)
	}
	if out, err := s.tofu(t, dir, bob, "init", "-no-color"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := s.tofu(t, dir, bob, "apply", "-auto-approve", "-no-color"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := s.tofu(t, dir, bob, "output", "-json", "versions")
	if want := `["1.2.0","deep 2.0.0"]`; err != nil || strings.TrimSpace(out) != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}

// TestModuleVersions: a version is semantic, is there once, and is found by the name
// that it was given, plus sign and all (docs/protocol.md, rule 27).
func TestModuleVersions(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	s.acme(t, ann)
	s.module(t, ann, "acme", "1.0.0+build", map[string]string{"main.tf": ""})
	const module = "/api/v2/organizations/acme/registry-modules/private/acme/network/null"
	for version, want := range map[string]int{"1.0": 422, "v1.0.0": 422, "01.0.0": 422, "1.0.0-": 422, "1.0.0/..": 422, "": 422,
		"1.0.0+BUILD": 409, "1.0.0": 201, "1.0.0-rc.1": 201} {
		s.expect(t, want, ann, "POST", module+"/versions",
			fmt.Sprintf(`{"data":{"type":"registry-module-versions","attributes":{"version":%q}}}`, version))
	}
	read := s.expect(t, http.StatusOK, ann, "GET", module+"/version?module_version=1.0.0+build", "")
	if read.attribute(t, "status") != "ok" {
		t.Errorf("%s", read.body)
	}
	s.expect(t, http.StatusNoContent, ann, "DELETE", module+"/1.0.0+build", "")
	s.expect(t, http.StatusNotFound, ann, "GET", module+"/version?module_version=1.0.0+build", "")
	s.expect(t, http.StatusNotFound, ann, "GET", modulesPath+"acme/network/null/1.0.0/download", "") // not uploaded
	s.expect(t, http.StatusNoContent, ann, "DELETE", module, "")
	s.expect(t, http.StatusNotFound, ann, "GET", modulesPath+"acme/network/null/versions", "")
}
