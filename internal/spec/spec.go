// Package spec turns a specification in CUE into configuration of the tools: it
// evaluates the package "estate" of a directory against the schemas of its
// providers and emits one file of JSON. It runs no tool and no provider; where the
// schemas come from is for its caller. It reads the text here, and does all the rest in
// a confined process ([Evaluation]): a specification is a program that need not end.
//
// The idea to know: a value that is known only after apply carries its address with
// it, in a definition beside the value, wherever the specification takes it
// (docs/spec.md, rules 12 to 16). So a reference is an ordinary reference of CUE,
// and what comes out in its place is an expression of the tool.
package spec

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec/naming"
	"github.com/assize-iac/assize/internal/spec/schema"
)

// Package is the name that the package of a specification has.
const Package = "estate"

// A Specification is what one directory comes to.
type Specification struct {
	Config  []byte           // JSON configuration of the tools; the same specification makes the same bytes
	Places  map[string]Place // by the tool's address: where things are in the specification
	Counts  Counts
	Refresh Refresh // $settings.refresh
}

// A Refresh says when a plan looks at everything that the state knows. The zero Refresh
// is always.
type Refresh struct {
	Never bool
	Age   time.Duration // not if nothing had changed so long ago; 0 is always
}

// A Place is where something is in a specification.
type Place struct {
	Path string // in CUE, such as web.front
	File string // relative to the directory; "" if nobody knows
	Line int
}

// Is reports whether a path in CUE is that of the place; an element of a list may have
// its number in brackets.
func (p Place) Is(path string) bool { return p.Path == path || p.Path == naming.Dotted(path) }

// Counts are of what there is in a specification.
type Counts struct{ Resources, Data, Ephemeral, Calls, Outputs, Providers int }

// String is the line that seed 003 prints of a specification that evaluates.
func (c Counts) String() string {
	return fmt.Sprintf("%d resources, %d data sources, %d ephemeral, %d function calls, %d outputs across %d providers",
		c.Resources, c.Data, c.Ephemeral, c.Calls, c.Outputs, c.Providers)
}

// A Toolbox is what a specification can be made of.
type Toolbox struct {
	Providers map[string]*schema.Provider // by source address
	Functions map[string]*schema.Function // of the tool itself, by name
}

// A Root is a directory that holds a specification.
type Root struct {
	Dir  string
	Name string // that people know it by, such as "."
}

// Tools is what a tool prints of itself and of the providers of one configuration, as
// JSON: "providers schema -json" and "metadata functions -json".
type Tools struct{ Schemas, Functions json.RawMessage }

// Decode reads what the tool printed, of the types that are wanted; nil wants all.
func (t Tools) Decode(wanted func(typ string) bool) (Toolbox, error) {
	decoded, err := schema.Decode(t.Schemas, wanted)
	if err != nil {
		return Toolbox{}, err
	}
	var f struct {
		All map[string]*schema.Function `json:"function_signatures"`
	}
	if err := json.Unmarshal(t.Functions, &f); err != nil {
		return Toolbox{}, problem.New(api.Unavailable, "the tool's list of its functions cannot be read: %w", err)
	}
	return Toolbox{Providers: decoded.Providers, Functions: f.All}, nil
}

// compile evaluates a specification: once to see what there is, and again with the
// address of everything. Its error is a problem whose message names places in CUE, with
// a hint.
func (s *source) compile(tools Toolbox) (*Specification, error) {
	surveyed, err := s.evaluate(tools, nil)
	if err != nil {
		return nil, err
	}
	s.found = survey(surveyed, tools)
	addresses := s.found.addresses()
	s.found.forget(s.where)
	value, err := s.evaluate(tools, addresses)
	if err != nil {
		return nil, err
	}
	c := &compiler{src: s, tools: tools, value: value, items: map[string]*item{}, providers: map[string]*provider{}}
	return c.compile()
}
