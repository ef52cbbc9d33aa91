// Package schema reads what providers say of themselves and says it in CUE: one
// package a provider, whose definitions are closed, typed and commented. It knows
// nothing of any specification (docs/spec.md, rules 5 to 9).
package schema

import (
	"bytes"
	"encoding/json"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Schemas are those of all providers of a configuration, as "tofu providers
// schema -json" prints them.
type Schemas struct {
	FormatVersion string               `json:"format_version"`
	Providers     map[string]*Provider `json:"provider_schemas"` // by source address
}

// A Provider is what one provider has.
type Provider struct {
	Config    Schema               `json:"provider"`
	Resources map[string]*Schema   `json:"resource_schemas"`
	Data      map[string]*Schema   `json:"data_source_schemas"`
	Ephemeral map[string]*Schema   `json:"ephemeral_resource_schemas"`
	Functions map[string]*Function `json:"functions"`
}

// A Schema is one type of resource, or the configuration of a provider.
type Schema struct {
	Version int   `json:"version"`
	Block   Block `json:"block"`
}

// A Block holds attributes and further blocks.
type Block struct {
	Attributes  map[string]*Attribute `json:"attributes"`
	Blocks      map[string]*Nested    `json:"block_types"`
	Description string                `json:"description"`
	Deprecated  bool                  `json:"deprecated"`
}

// An Attribute is one value. It has a type, or attributes of its own.
type Attribute struct {
	Type        Type     `json:"type"`
	Nesting     *Nesting `json:"nested_type"`
	Description string   `json:"description"`
	Required    bool     `json:"required"`
	Optional    bool     `json:"optional"`
	Computed    bool     `json:"computed"`
	Sensitive   bool     `json:"sensitive"`
	WriteOnly   bool     `json:"write_only"`
	Deprecated  bool     `json:"deprecated"`
}

// A Nesting is the object, or the objects, that an attribute holds.
type Nesting struct {
	Attributes map[string]*Attribute `json:"attributes"`
	Mode       Mode                  `json:"nesting_mode"`
}

// A Nested is a block within a block.
type Nested struct {
	Mode  Mode  `json:"nesting_mode"`
	Block Block `json:"block"`
	Min   int   `json:"min_items"`
	Max   int   `json:"max_items"`
}

// A Mode says how many objects there are, and how one is found among them.
type Mode string

// The modes of nested objects. A group is a single one that is always there.
const (
	Single Mode = "single"
	Group  Mode = "group"
	List   Mode = "list"
	Set    Mode = "set"
	Map    Mode = "map"
)

// One reports whether a specification writes a block as one struct, not as a list.
func (n *Nested) One() bool {
	return n.Mode == Single || n.Mode == Group || n.Max == 1 && (n.Mode == List || n.Mode == Set)
}

// A Function is one that a provider, or the tool itself, offers.
type Function struct {
	Description string       `json:"description"`
	Return      Type         `json:"return_type"`
	Parameters  []*Parameter `json:"parameters"`
	Variadic    *Parameter   `json:"variadic_parameter"`
}

// A Parameter is one of a function's.
type Parameter struct {
	Name     string `json:"name"`
	Type     Type   `json:"type"`
	Nullable bool   `json:"is_nullable"`
}

// Decode reads what "providers schema -json" printed. What is new in a format of
// the same major version is passed over: it is nothing a specification could use.
func Decode(data []byte) (*Schemas, error) {
	var s Schemas
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, problem.New(api.Invalid, "the schemas of the providers cannot be read: %w", err)
	}
	if !bytes.HasPrefix([]byte(s.FormatVersion), []byte("1.")) {
		return nil, problem.New(api.Invalid, "the schemas of the providers have the format %q, and only 1.x is known", s.FormatVersion)
	}
	return &s, nil
}
