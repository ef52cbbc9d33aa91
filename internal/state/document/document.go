// Package document turns what the tool shows of a state into the document that
// people and expressions see: without a secret, and with the names that a
// specification has for things. It must not know where the state comes from.
//
// The idea to know: secrets are gone before anybody can ask, so no question can be
// put that an answer would give one away to (docs/spec.md, rule 31).
package document

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/plan/secret"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec/naming"
)

// A State is one state, to be looked at. It holds secrets where nobody sees them.
type State struct {
	Document  api.StateDocument
	addresses []string // the tool's, of the resources of the document
	secrets   secret.Set
}

// A Source is where a state comes from.
type Source struct {
	At            api.State // empty where there is none yet
	Specification bool      // what it holds is called by paths in CUE
	Secrets       []string  // other values that are to be masked wherever they stand
}

// shown is what `tofu show -json` prints of a state.
type shown struct {
	Values struct {
		Outputs map[string]struct {
			Sensitive bool            `json:"sensitive"`
			Value     json.RawMessage `json:"value"`
		} `json:"outputs"`
		Root module `json:"root_module"`
	} `json:"values"`
}

type module struct {
	Address   string     `json:"address"`
	Resources []resource `json:"resources"`
	Modules   []module   `json:"child_modules"`
}

type resource struct {
	Address   string          `json:"address"`
	Mode      string          `json:"mode"`
	Type      string          `json:"type"`
	Name      string          `json:"name"`
	Index     any             `json:"index"`
	Provider  string          `json:"provider_name"`
	Values    json.RawMessage `json:"values"`
	Sensitive json.RawMessage `json:"sensitive_values"`
	DependsOn []string        `json:"depends_on"`
	Tainted   bool            `json:"tainted"`
	Deposed   string          `json:"deposed_key"`

	module        string
	values, marks any
}

// Read reads what the tool printed; nothing of it is a state without anything. Its
// errors quote no value.
func Read(raw []byte, from Source) (*State, error) {
	var text shown
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if len(bytes.TrimSpace(raw)) > 0 && dec.Decode(&text) != nil {
		return nil, unreadable()
	}
	resources, err := text.Values.Root.all()
	if err != nil {
		return nil, err
	}
	hidden, outputs := secret.Collector{}, map[string]output{}
	for _, r := range resources {
		hidden.Marked(r.values, r.marks)
	}
	for name, o := range text.Values.Outputs {
		v, err := value(o.Value)
		if err != nil {
			return nil, err
		}
		outputs[name] = output{v, o.Sensitive}
		hidden.Marked(v, o.Sensitive)
	}
	for _, text := range from.Secrets {
		hidden.All(text)
	}
	s := &State{secrets: hidden.Index()}
	s.fill(from, resources, outputs)
	return s, nil
}

type output struct{ value, mark any }

// all are the resources of a module and of those in it.
func (m *module) all() ([]resource, error) {
	var all []resource
	for _, r := range m.Resources {
		var err error
		r.module = m.Address
		if r.values, err = value(r.Values); err != nil {
			return nil, err
		}
		if r.marks, err = value(r.Sensitive); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	for i := range m.Modules {
		more, err := m.Modules[i].all()
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// value is a part of the text, nil for what is not there.
func value(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := planjson.Parse(string(raw))
	if err != nil {
		return nil, unreadable()
	}
	return v, nil
}

func unreadable() error {
	return problem.New(api.Unavailable, "the tool shows a state that cannot be read").WithHint("look at what `tofu show -json` prints")
}

// fill writes the document.
func (s *State) fill(from Source, resources []resource, outputs map[string]output) {
	d := api.StateDocument{Format: api.StateFormat, Lineage: from.At.Lineage, Serial: from.At.Serial, Resources: []api.Held{}, Outputs: map[string]any{}}
	called := func(address string) string {
		if from.Specification && address != "" {
			return naming.Path(s.secrets.Address(address))
		}
		return s.secrets.Address(address)
	}
	for _, r := range resources {
		values, _ := s.secrets.Mask(r.values, r.marks).(map[string]any)
		if values == nil {
			values = map[string]any{}
		}
		held := api.Held{
			Addr: called(r.Address), Mode: r.Mode, Type: r.Type, Name: r.Name, Provider: r.Provider, Values: values,
			Module: called(r.module), Index: s.index(r.Index), Tainted: r.Tainted, Deposed: r.Deposed,
		}
		for _, other := range r.DependsOn {
			held.DependsOn = append(held.DependsOn, called(other))
		}
		d.Resources = append(d.Resources, held)
		s.addresses = append(s.addresses, r.Address)
	}
	for name, o := range outputs {
		d.Outputs[name] = s.secrets.Mask(o.value, o.mark)
	}
	s.Document = d
}

// index is an instance key as it may be shown.
func (s *State) index(key any) any {
	if text, ok := key.(string); ok && s.secrets.InKey(text) {
		return map[string]any{"$sensitive": true}
	}
	return key
}

// JSON is the document as one line.
func (s *State) JSON() []byte { return planjson.Encode(s.Document) }

// Redact replaces every secret of the state in text by (sensitive).
func (s *State) Redact(text string) string { return s.secrets.Redact(text) }

// A Found is one object, and what the tool calls it.
type Found struct {
	Object  api.Held
	Address string
}

// Find is the object of this name: as the document calls it, or as the tool does.
// What is left of one that was replaced is shown with the one that it was replaced by.
func (s *State) Find(name string) (Found, error) {
	var found []Found
	for i, r := range s.Document.Resources {
		if r.Deposed != "" {
			continue
		}
		if s.addresses[i] == name { // nothing else is called so
			return Found{r, s.addresses[i]}, nil
		}
		if r.Addr == name || r.Addr == naming.Dotted(name) {
			found = append(found, Found{r, s.addresses[i]})
		}
	}
	switch len(found) {
	case 0:
		return Found{}, problem.New(api.NotFound, "%s is not in the state", s.Redact(name)).WithHint("assize state list shows what is")
	case 1:
		return found[0], nil
	}
	var addresses []string
	for _, f := range found {
		addresses = append(addresses, s.secrets.Address(f.Address))
	}
	return Found{}, problem.New(api.Invalid, "several objects in the state are called %s: %s", s.Redact(name), strings.Join(addresses, ", ")).
		WithHint("name one by the tool's address")
}

// Renamed is what the tool calls the object at another path of a specification.
func (f Found) Renamed(path string) (string, error) {
	before, ok := strings.CutSuffix(f.Address, f.Object.Name)
	if !ok { // an instance of what no specification makes
		return "", problem.New(api.Invalid, "%s was not made by a specification: nothing in one could be called like it", f.Object.Addr).
			WithHint("tofu state mv, in .assize/spec")
	}
	return before + naming.Tool(naming.Dotted(path)), nil
}

// Holds reports whether an address of the tool is that of an object, of a resource
// with instances, or of a module that is in the state.
func (s *State) Holds(address string) bool {
	return slices.ContainsFunc(s.addresses, func(a string) bool {
		rest, ok := strings.CutPrefix(a, address)
		return ok && (rest == "" || rest[0] == '[' || rest[0] == '.')
	})
}

// Shown is an address of the tool as it may be shown.
func (s *State) Shown(address string) string { return s.secrets.Address(address) }

// Text writes a value of the document for people: JSON on one line, with (sensitive)
// for what is masked.
func Text(v any) string {
	if m, ok := v.(map[string]any); ok && len(m) == 1 && m["$sensitive"] == true {
		return "(sensitive)"
	}
	switch v := v.(type) {
	case map[string]any:
		return "{" + joined(v) + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, Text(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return string(planjson.Encode(v))
}

func joined(object map[string]any) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(object)) {
		parts = append(parts, string(planjson.Encode(k))+": "+Text(object[k]))
	}
	return strings.Join(parts, ", ")
}
