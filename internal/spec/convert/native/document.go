// Package native is what a stack in the tools' own language says of itself: what a plan
// prints of its state and configuration, and, for what no plan prints, its files.
package native

import (
	"bytes"
	"encoding/json"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// The kinds of what a state holds.
const (
	Managed = "managed"
	Data    = "data"
)

// A Document is what is read of a plan.
type Document struct {
	Variables map[string]struct{ Value any } `json:"variables"`
	State     struct {
		Values struct {
			Outputs map[string]OutputState `json:"outputs"`
			Root    ModuleState            `json:"root_module"`
		} `json:"values"`
	} `json:"prior_state"`
	Changes []struct {
		Address string                     `json:"address"`
		Change  struct{ Actions []string } `json:"change"`
	} `json:"resource_changes"`
	Configuration struct {
		Providers map[string]*ProviderConfig `json:"provider_config"`
		Root      *Module                    `json:"root_module"`
	} `json:"configuration"`
}

// An OutputState is what the state has of an output.
type OutputState struct {
	Sensitive bool `json:"sensitive"`
	Value     any  `json:"value"`
}

// A ModuleState is an instance of a module.
type ModuleState struct {
	Address   string          `json:"address"`
	Resources []ResourceState `json:"resources"`
	Children  []ModuleState   `json:"child_modules"`
}

// A ResourceState is one instance of a resource or data source.
type ResourceState struct {
	Address   string         `json:"address"`
	Mode      string         `json:"mode"`
	Type      string         `json:"type"`
	Name      string         `json:"name"`
	Index     any            `json:"index"` // a string, a json.Number or nil
	Provider  string         `json:"provider_name"`
	Values    map[string]any `json:"values"`
	Sensitive map[string]any `json:"sensitive_values"`
	Deposed   string         `json:"deposed_key"`
	Tainted   bool           `json:"tainted"`
}

// A ProviderConfig is a configuration of a provider.
type ProviderConfig struct {
	Source      string         `json:"full_name"`
	Alias       string         `json:"alias"`
	Version     string         `json:"version_constraint"`
	Expressions map[string]any `json:"expressions"`
}

// A Module is what the configuration says of one.
type Module struct {
	Outputs   map[string]*Output         `json:"outputs"`
	Resources []*ResourceConfig          `json:"resources"`
	Calls     map[string]*Call           `json:"module_calls"`
	Variables map[string]*VariableConfig `json:"variables"`
}

// An Output is one of a module.
type Output struct {
	Sensitive  bool `json:"sensitive"`
	Expression any  `json:"expression"`
}

// A VariableConfig is what the configuration says of a variable.
type VariableConfig struct {
	Sensitive bool `json:"sensitive"`
}

// A Call is one of a module.
type Call struct {
	Expressions map[string]any `json:"expressions"`
	Each        any            `json:"for_each_expression"`
	Module      *Module        `json:"module"`
	DependsOn   []string       `json:"depends_on"`
}

// A ResourceConfig is a resource, or a data source, for all of its instances.
type ResourceConfig struct {
	Mode         string         `json:"mode"`
	Type         string         `json:"type"`
	Name         string         `json:"name"`
	Provider     string         `json:"provider_config_key"`
	Provisioners []any          `json:"provisioners"`
	Expressions  map[string]any `json:"expressions"`
	Each         any            `json:"for_each_expression"`
	Count        any            `json:"count_expression"`
	DependsOn    []string       `json:"depends_on"`
}

// Decode reads what "show -json" prints of a plan.
func Decode(plan []byte) (*Document, error) {
	var d Document
	decoder := json.NewDecoder(bytes.NewReader(plan))
	decoder.UseNumber()
	if err := decoder.Decode(&d); err != nil {
		return nil, problem.New(api.Invalid, "the plan of the stack cannot be read: %w", err)
	}
	if d.Configuration.Root == nil {
		d.Configuration.Root = &Module{}
	}
	return &d, nil
}

// An Expression is what a plan says of one: that it is constant, or what it refers to.
type Expression struct {
	Constant   any
	IsConstant bool
	References []string
}

// ExpressionOf reads one; what is none refers to nothing.
func ExpressionOf(v any) Expression {
	fields, _ := v.(map[string]any)
	var e Expression
	e.Constant, e.IsConstant = fields["constant_value"]
	refs, _ := fields["references"].([]any)
	for _, ref := range refs {
		if text, ok := ref.(string); ok {
			e.References = append(e.References, text)
		}
	}
	return e
}
