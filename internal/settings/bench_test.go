package settings_test

import (
	"testing"

	"github.com/assize-iac/assize/internal/settings"
)

// BenchmarkResolve is one stack of a repository that uses what there is: a scan
// resolves every stack.
func BenchmarkResolve(b *testing.B) {
	r := root(b, `
backend_config: [infra/state.s3.tfbackend, 'key={{ trimPrefix "infra/" .Path }}/{{ .Instance }}.tfstate']
env: {TF_VAR_environment: '{{ .Instance }}', TF_VAR_role: {plan: reader, apply: deployer}}
environments: {"infra/": 'infra-{{ .Instance }}', ":production": production}
`)
	d := directory(b, "depends_on: ['infra/network:{{ .Instance }}', infra/dns]\nworkspace: '{{ .Instance }}'\n")
	for b.Loop() {
		if _, err := settings.Resolve(r, "infra/kyc", d, "staging", "workspaces/staging.tfvars.json"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseDirectory(b *testing.B) {
	data := []byte("depends_on: ['infra/network:{{ .Instance }}', infra/dns]\nworkspace: '{{ .Instance }}'\n")
	for b.Loop() {
		if _, err := settings.ParseDirectory(".assize.yaml", data); err != nil {
			b.Fatal(err)
		}
	}
}
