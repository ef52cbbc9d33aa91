// Package schema reads what providers say of themselves and says it in CUE: one
// package a provider, whose definitions are closed, typed and commented. It knows
// nothing of any specification (docs/spec.md, rules 5 to 9).
package schema

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Schemas are those of all providers of a configuration, as "tofu providers
// schema -json" prints them.
type Schemas struct {
	Providers map[string]*Provider // by source address
}

// A Provider is what one provider has. Of types that nobody wanted to be read there is
// the name alone.
type Provider struct {
	Config    Schema
	Resources map[string]*Schema
	Data      map[string]*Schema
	Ephemeral map[string]*Schema
	Functions map[string]*Function
}

// A printed is a provider as the tools print it, with types that were not read.
type printed struct {
	Config    Schema                     `json:"provider"`
	Resources map[string]json.RawMessage `json:"resource_schemas"`
	Data      map[string]json.RawMessage `json:"data_source_schemas"`
	Ephemeral map[string]json.RawMessage `json:"ephemeral_resource_schemas"`
	Functions map[string]*Function       `json:"functions"`
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

// Decode reads what "providers schema -json" printed, of the types that are wanted; nil
// wants all. What is new in a format of the same major version is passed over: it is
// nothing a specification could use.
func Decode(data []byte, wanted func(typ string) bool) (*Schemas, error) {
	var all struct {
		FormatVersion string              `json:"format_version"`
		Providers     map[string]*printed `json:"provider_schemas"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, unreadable(err)
	}
	if !strings.HasPrefix(all.FormatVersion, "1.") {
		return nil, problem.New(api.Invalid, "the schemas of the providers have the format %q, and only 1.x is known", all.FormatVersion)
	}
	s := &Schemas{Providers: map[string]*Provider{}}
	for source, p := range all.Providers {
		if p == nil {
			continue
		}
		read := &Provider{Config: p.Config, Functions: p.Functions}
		var wrong [3]error
		read.Resources, wrong[0] = types(p.Resources, wanted)
		read.Data, wrong[1] = types(p.Data, wanted)
		read.Ephemeral, wrong[2] = types(p.Ephemeral, wanted)
		if err := errors.Join(wrong[:]...); err != nil {
			return nil, unreadable(err)
		}
		s.Providers[source] = read
	}
	return s, nil
}

// types reads those that are wanted, and knows the names of the others.
func types(all map[string]json.RawMessage, wanted func(string) bool) (map[string]*Schema, error) {
	read := map[string]*Schema{}
	for typ, data := range all {
		read[typ] = nil
		if wanted == nil || wanted(typ) {
			var one Schema
			if err := json.Unmarshal(data, &one); err != nil {
				return nil, err
			}
			read[typ] = &one
		}
	}
	return read, nil
}

func unreadable(err error) error {
	return problem.New(api.Invalid, "the schemas of the providers cannot be read: %w", err)
}
