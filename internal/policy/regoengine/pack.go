package regoengine

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine/builtins"
	"github.com/assize-iac/assize/internal/policy/regoengine/document"
	"github.com/assize-iac/assize/internal/policy/regoengine/opabundle"
)

// Pack implements [policy.Packer].
func (Engine) Pack(src policy.Source) (*policy.OPA, error) {
	caps, err := builtins.Convention()
	if err != nil {
		return nil, err
	}
	modules, err := parse(src.Files, caps)
	if err != nil {
		return nil, err
	}
	data, err := document.Data(src.Rego.Data)
	if err != nil {
		return nil, err
	}
	return toPack(src, modules, data).Of()
}

func toPack(src policy.Source, modules map[string]*ast.Module, data map[string]any) opabundle.Policy {
	if len(src.Rego.Data) == 0 {
		data = nil
	}
	return opabundle.Policy{Modules: modules, Data: data, Capabilities: builtins.Manifests()}
}
