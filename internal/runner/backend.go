package runner

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// steering are the variables that say where a backend keeps its state, whatever
// its settings are; a name that ends in * is a prefix. Credentials are not among
// them: the two jobs of a pipeline have different ones.
var steering = []string{
	"TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_UNLOCK_ADDRESS", "TF_CLOUD_*",
	"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL*",
	"PG_CONN_STR", "PG_SCHEMA_NAME", "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE", "CONSUL_HTTP_ADDR",
	"ARM_SUBSCRIPTION_ID", "ARM_TENANT_ID", "ARM_ENVIRONMENT",
	"KUBE_HOST", "KUBE_CTX", "KUBE_CTX_CLUSTER", "KUBE_NAMESPACE", "KUBE_CONFIG_PATH", "KUBE_CONFIG_PATHS",
}

// credentials are settings of backends that change from job to job and say
// nothing about the place.
var credentials = []string{
	"username", "password", "token", "access_key", "secret_key", "access_token", "client_secret", "sas_token",
	"oidc_token", "oidc_request_token", "credentials", "secret_id", "security_token",
	"headers", "client_certificate_pem", "client_private_key_pem",
}

// backend is the digest of where the state is kept: the backend in the tool's
// own record, which init writes, and the variables that steer it. Its hash of
// the configuration is left out: that is bound by itself, and is computed over
// credentials as well.
func (s *Stack) backend(b api.Binding) (string, error) {
	kind, config, err := s.recordedBackend()
	if err != nil {
		return "", err
	}
	for _, name := range credentials {
		delete(config, name)
	}
	settings, err := json.Marshal(config) // sorted by key
	if err != nil {
		return "", problem.New(api.Internal, "the backend cannot be written: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "assize.backend/v1\n%q\n%q %q\n", b.Salt, kind, settings)
	vars := s.asPlanned(b).Matching(steers)
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if vars[name] != "" { // empty is unset, to every backend
			fmt.Fprintf(h, "%q=%q\n", name, vars[name])
		}
	}
	return sum(h), nil
}

func (s *Stack) recordedBackend() (kind string, config map[string]any, err error) {
	var record struct {
		Backend *struct {
			Type   string
			Config map[string]any
		}
	}
	data, err := os.ReadFile(filepath.Join(s.Session.DataDir(), "terraform.tfstate"))
	if errors.Is(err, fs.ErrNotExist) {
		return "local", nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil { // what stands there may be a secret
		return "", nil, problem.New(api.Unavailable, "the record of the backend in %s cannot be read", s.Session.DataDir()).
			WithHint("%s init -reconfigure", s.Session.Tool.Name)
	}
	if record.Backend == nil {
		return "local", nil, nil
	}
	return record.Backend.Type, record.Backend.Config, nil
}

// lasting refuses to keep the state of a specification in its private directory, which
// may be removed at any time (docs/spec.md, rule 37). It asks the record of the backend,
// so it does not matter where the place was said: in the specification, in the settings,
// or in a file that they name.
func (s *Stack) lasting() error {
	if !s.Specified() {
		return nil
	}
	kind, config, err := s.recordedBackend()
	if err != nil || kind != "local" {
		return err
	}
	private := filepath.Join(s.specified, dirName)
	for _, name := range []string{"path", "workspace_dir"} {
		file, said := config[name].(string)
		if !said {
			continue
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(s.Session.Dir, file)
		}
		if below, err := filepath.Rel(private, file); err != nil || !filepath.IsLocal(below) {
			continue
		}
		shown, err := filepath.Rel(s.root, file)
		if err != nil {
			shown = file
		}
		return problem.New(api.Conflict, "%s: the state would lie in %s, and that directory may be removed at any time", s.key(), filepath.ToSlash(shown)).
			WithHint("name another place in $settings.state or backend_config, where ../../ is beside the specification, and move the state there if it has one")
	}
	return nil
}

func steers(name string) bool {
	return slices.ContainsFunc(steering, func(s string) bool {
		if prefix, ok := strings.CutSuffix(s, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == s
	})
}
