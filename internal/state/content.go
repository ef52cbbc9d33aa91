package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Contents is what is read out of the bytes of a state. None of it decides whether
// the bytes are taken: an encrypted state has next to nothing of it (docs/state.md,
// rule 9).
type Contents struct {
	Format    int    // "version" in the file, 0 when it says none
	Serial    *int64 // nil when it says none
	Lineage   string
	Tool      string // version of the tool that wrote it
	Encrypted bool   // an envelope of OpenTofu's state encryption
	Partial   bool   // something in it is larger than is looked at
	Outputs   []Output
	Resources []Resource // the first of them
	Managed   int        // of all resources, those that exist and are managed
}

// An Output is one of the root module.
type Output struct {
	Name      string          `json:"name"`
	Sensitive bool            `json:"sensitive,omitempty"`
	Type      json.RawMessage `json:"type,omitempty"`  // as the tool writes types, such as ["list","string"]
	Value     json.RawMessage `json:"value,omitempty"` // none when it is kept from us
}

// A Resource is a block of configuration, with the number of its instances.
type Resource struct {
	Module   string `json:"module,omitempty"` // address; "" for the root
	Mode     string `json:"mode"`             // "managed" or "data"
	Type     string `json:"type"`
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Count    int    `json:"count"`

	// Keys are those of the instances, numbers or strings, null for one without a
	// key: the first of them.
	Keys []json.RawMessage `json:"keys,omitempty"`
}

const (
	// tokenMax bounds the memory that one string of a state can take, in bytes.
	tokenMax = 16 << 20
	// outputsMax bounds all outputs of a state together, in bytes.
	outputsMax = 16 << 20
	// outputsCount is how many outputs are kept: each is a document for whoever reads
	// the version.
	outputsCount = 10000
	// resourcesMax is how many resources are listed, and how many instances of one;
	// all are counted.
	resourcesMax = 10000
	// listedMax bounds all that is kept of resources and their instances, in bytes.
	listedMax = 16 << 20
	keyCost   = 32 // bytes that a key takes beside its text
)

// errToken is a string that is longer than is looked at.
var errToken = errors.New("too long to be looked at")

// errShape is a part that is JSON and not of the shape that states have.
var errShape = errors.New("not what a state has there")

// Read reads the bytes of a state to their end, with little memory whatever their
// size. Its error says that they are no JSON object, or that r failed.
func Read(r io.Reader) (Contents, error) {
	s := &skimmer{from: r}
	s.dec = jsontext.NewDecoder(s, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var c Contents
	err := s.object(func(name string) error { return s.member(&c, name) })
	if err == nil {
		_, err = s.dec.ReadToken()
		if err == nil {
			err = errShape // something follows the object
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if errors.Is(err, errToken) {
		c.Partial = true
		_, err = io.Copy(io.Discard, r)
	}
	if !tool.MatchString(c.Tool) {
		c.Tool = ""
	}
	if c.Format != int(int32(c.Format)) {
		c.Format = 0
	}
	return c, err
}

// tool matches what versions of tools look like. Other text is not worth keeping.
var tool = regexp.MustCompile(`^[0-9A-Za-z.+_-]{1,100}$`)

// A skimmer hands bytes to a decoder, and stops when it wants to keep too many.
type skimmer struct {
	from   io.Reader
	dec    *jsontext.Decoder
	read   int64
	listed int // bytes of resources that are kept
}

// list reports whether so many bytes more may be kept of resources.
func (s *skimmer) list(bytes int) bool {
	if s.listed+bytes > listedMax {
		return false
	}
	s.listed += bytes
	return true
}

func (s *skimmer) Read(p []byte) (int, error) {
	if s.read-s.dec.InputOffset() > tokenMax {
		return 0, errToken
	}
	n, err := s.from.Read(p)
	s.read += int64(n)
	return n, err
}

// object reads one object and calls fn before each of its values.
func (s *skimmer) object(fn func(name string) error) error {
	if s.dec.PeekKind() != '{' {
		return s.unexpected()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := fn(name.String()); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// unexpected is the error of what is next, if it has one, or that it is another shape.
func (s *skimmer) unexpected() error {
	if err := s.dec.SkipValue(); err != nil {
		return err
	}
	return errShape
}

// member reads one member of the file.
func (s *skimmer) member(c *Contents, name string) error {
	switch name {
	case "version":
		return scalar(s, &c.Format)
	case "serial":
		return scalar(s, &c.Serial)
	case "lineage":
		return scalar(s, &c.Lineage)
	case "terraform_version":
		return scalar(s, &c.Tool)
	case "encrypted_data":
		c.Encrypted = true
	case "outputs":
		return s.outputs(c)
	case "resources":
		return s.resources(c)
	}
	return s.dec.SkipValue()
}

// scalar reads a value that is short; what has another type counts as not said.
func scalar[T any](s *skimmer, into *T) error {
	if k := s.dec.PeekKind(); k == '{' || k == '[' {
		return s.dec.SkipValue()
	}
	value, err := s.dec.ReadValue()
	if err != nil {
		return err
	}
	var said T // what is unmarshalled in part must not stay
	if json.Unmarshal(value, &said) == nil {
		*into = said
	}
	return nil
}

// outputs reads the outputs of a file of version 4: an object.
func (s *skimmer) outputs(c *Contents) error {
	if s.dec.PeekKind() != '{' {
		return s.dec.SkipValue()
	}
	size := 0
	err := s.object(func(name string) error {
		if size > outputsMax || len(c.Outputs) == outputsCount || s.dec.PeekKind() != '{' {
			c.Partial = true
			return s.dec.SkipValue()
		}
		value, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		size += len(name) + len(value)
		o := Output{Name: strings.Clone(name)}
		if json.Unmarshal(value, &o) == nil {
			o.Name = name
			c.Outputs = append(c.Outputs, o)
		}
		return nil
	})
	sortOutputs(c.Outputs)
	return err
}

func sortOutputs(all []Output) {
	slices.SortStableFunc(all, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
}

// ParseOutputs reads the outputs that a client sends beside a state: an object of
// objects, in JSON. Text that is empty or null holds none.
func ParseOutputs(text []byte) ([]Output, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	var c Contents
	s := &skimmer{from: bytes.NewReader(text)}
	s.dec = jsontext.NewDecoder(s, jsontext.AllowDuplicateNames(true))
	if s.dec.PeekKind() != '{' {
		return nil, errShape
	}
	if err := s.outputs(&c); err != nil {
		return nil, err
	}
	if c.Partial {
		return nil, errShape
	}
	return c.Outputs, nil
}

// resources reads the resources of a file of version 4: a list.
func (s *skimmer) resources(c *Contents) error {
	if s.dec.PeekKind() != '[' {
		return s.dec.SkipValue()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != ']' {
		if s.dec.PeekKind() != '{' {
			if err := s.dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		var r Resource
		if err := s.object(func(name string) error { return s.resource(&r, name) }); err != nil {
			return err
		}
		if r.Mode == "managed" && r.Count > 0 {
			c.Managed++
		}
		if len(c.Resources) < resourcesMax && s.list(len(r.Module)+len(r.Mode)+len(r.Type)+len(r.Name)+len(r.Provider)) {
			c.Resources = append(c.Resources, r)
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

func (s *skimmer) resource(r *Resource, name string) error {
	switch name {
	case "module":
		return scalar(s, &r.Module)
	case "mode":
		return scalar(s, &r.Mode)
	case "type":
		return scalar(s, &r.Type)
	case "name":
		return scalar(s, &r.Name)
	case "provider":
		return scalar(s, &r.Provider)
	case "instances":
		return s.instances(r)
	}
	return s.dec.SkipValue()
}

// instances counts a list and keeps nothing of it but the keys: secrets are in there.
func (s *skimmer) instances(r *Resource) error {
	if s.dec.PeekKind() != '[' {
		return s.dec.SkipValue()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != ']' {
		key, err := s.instance()
		if err != nil {
			return err
		}
		if r.Count++; len(r.Keys) < resourcesMax && s.list(keyCost+len(key)) {
			r.Keys = append(r.Keys, key)
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// instance is the key of one.
func (s *skimmer) instance() (json.RawMessage, error) {
	key := json.RawMessage("null")
	if s.dec.PeekKind() != '{' {
		return key, s.dec.SkipValue()
	}
	err := s.object(func(name string) error {
		if name != "index_key" {
			return s.dec.SkipValue()
		}
		return scalar(s, &key)
	})
	return key, err
}

// Conceal is outputs without their values: what is left of them when the state
// is encrypted, so that the encryption keeps them from the server too.
func Conceal(outputs []Output) []Output {
	bare := make([]Output, len(outputs))
	for i, o := range outputs {
		bare[i] = Output{Name: o.Name, Sensitive: o.Sensitive}
	}
	return bare
}
