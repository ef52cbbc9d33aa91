// Package convert turns a stack in the tools' own language into a specification: it
// reads a plan of the stack, which holds its state and its configuration, and writes
// CUE that comes to the same. It runs nothing and knows no directory.
//
// The idea to know: what the tools print of a configuration says which attributes are
// set, and what each refers to, but not how it is computed. So every value is taken
// from the state, and written as a reference, or as text with references in it, where
// what the configuration refers to has that very value (docs/spec.md, rule 27).
package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/format"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec/convert/native"
	"github.com/assize-iac/assize/internal/spec/schema"
)

// A Stack is what is known of the stack that is to become a specification.
type Stack struct {
	Plan      []byte                       // as "show -json" prints one that was made just now
	Providers map[string]*schema.Provider  // by source address
	Sources   map[string]map[string][]byte // the configuration's files, by module ("", "net", "net.subnet") and name
	Backend   Backend
	Secret    func(name string) bool // whether a name is that of a secret
}

// A Backend is where the state is. The zero Backend is a file beside the configuration.
type Backend struct {
	Kind      string // local, s3 and so on
	Config    map[string]any
	Workspace string // that is selected
}

// Named reports whether the state is that of a workspace that somebody has named.
func (b Backend) Named() bool { return b.Workspace != "" && b.Workspace != "default" }

// says reports whether a backend's own settings say which workspace it is.
func (b Backend) says() bool {
	workspaces, _ := b.Config["workspaces"].(map[string]any)
	return workspaces["name"] == b.Workspace
}

// A Converted is a specification.
type Converted struct {
	Text      []byte // formatted CUE
	Left      []Left // what it does not say, by address
	Resources int
	Moved     int // of them, those that have another address from now on
}

// A Left is something that a specification does not say, or says otherwise.
type Left struct {
	Address string // as the tool knows it: a resource, output or provider
	What    string
	Do      string // "" where there is nothing to do
}

// String is one line, or two.
func (l Left) String() string {
	if l.Do == "" {
		return l.Address + ": " + l.What
	}
	return fmt.Sprintf("%s: %s\n    %s", l.Address, l.What, l.Do)
}

// Convert writes a stack as a specification.
func Convert(s Stack) (*Converted, error) {
	d, err := native.Decode(s.Plan)
	if err != nil {
		return nil, err
	}
	c := &converter{stack: s, doc: d, sources: native.Read(s.Sources), variables: map[string]string{}, tops: map[string]bool{}, nested: map[string]bool{}, aliases: map[string]string{}}
	c.collect()
	c.place()
	if len(c.items) == 0 {
		return nil, problem.New(api.Invalid, "the stack has nothing in its state: there is nothing to import").WithHint("apply it first, or write a specification anew")
	}
	c.provide()
	// Once to learn which names are needed, and which stand in the way; once to write.
	_ = c.text()
	c.alias()
	c.left = nil
	text, err := format.Source([]byte(c.text()))
	if err != nil {
		return nil, problem.New(api.Internal, "what was written is no CUE: %w", err)
	}
	c.missing()
	out := &Converted{Text: text, Left: c.sorted()}
	for _, i := range c.items {
		if i.Mode == native.Managed {
			out.Resources++
		}
		if i.from() != "" {
			out.Moved++
		}
	}
	return out, nil
}

// A converter converts one stack.
type converter struct {
	stack     Stack
	doc       *native.Document
	sources   map[string]*native.Source
	items     []*item
	providers []*provider
	variables map[string]string // names of the hidden fields of the variables that are referred to
	functions bool              // one of the tool's own functions is called
	left      []Left
	known     []string // sensitive texts; see [converter.secrets]

	tops    map[string]bool   // fields of the package that are referred to
	nested  map[string]bool   // names that stand further inside, where they hide one outside
	aliases map[string]string // another name of a field, where its own would not do
}

// leave notes what the specification does not say.
func (c *converter) leave(address, do, what string, args ...any) {
	l := Left{Address: address, What: fmt.Sprintf(what, args...), Do: do}
	if !slices.Contains(c.left, l) {
		c.left = append(c.left, l)
	}
}

func (c *converter) sorted() []Left {
	slices.SortStableFunc(c.left, func(a, b Left) int { return cmp.Compare(a.Address, b.Address) })
	return c.left
}

// missing lists what the stack says and the state has not, and the other way round.
func (c *converter) missing() {
	for _, change := range c.doc.Changes {
		if actions := strings.Join(change.Change.Actions, " and "); actions != "no-op" && actions != "read" {
			c.leave(change.Address, "apply the stack, and import it then", "the stack itself does not plan empty: %s", actions)
		}
	}
	for _, s := range c.sources {
		for _, block := range s.Others {
			c.leave(block, "", "it is not in the specification")
		}
	}
}
