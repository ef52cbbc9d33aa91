package spec

import (
	"maps"
	"slices"

	"cuelang.org/go/cue"

	"github.com/assize-iac/assize/internal/spec/schema"
)

// secret reports whether a value must not be shown: its provider calls it sensitive,
// the tool's function of that name made it, or it was made of such a value, here or in
// anything that it refers to. Whoever has been asked about is in seen.
func (c *compiler) secret(v cue.Value, seen map[string]bool) bool {
	for _, ref := range references(v, "") {
		if !seen[ref] {
			seen[ref] = true
			if c.secretAt(ref, seen) {
				return true
			}
		}
	}
	if call := called(v); call.Exists() {
		switch name, _ := call.LookupPath(cue.ParsePath("name")).String(); name {
		case "sensitive":
			return true
		case "nonsensitive":
			return false
		}
		return c.anySecret(call.LookupPath(cue.ParsePath("args")), seen)
	}
	return c.anySecret(v.LookupPath(cue.MakePath(cue.Def("parts"))), seen) || c.anySecret(v, seen)
}

// anySecret is secret for what is in a list or a struct.
func (c *compiler) anySecret(v cue.Value, seen map[string]bool) bool {
	switch v.IncompleteKind() {
	case cue.ListKind:
		it, err := v.List()
		for err == nil && it.Next() {
			if c.secret(it.Value(), seen) {
				return true
			}
		}
	case cue.StructKind:
		it, err := v.Fields()
		for err == nil && it.Next() {
			if c.secret(it.Value(), seen) {
				return true
			}
		}
	}
	return false
}

// secretAt is secret for what is at an address. What a function returns is made of
// its arguments.
func (c *compiler) secretAt(ref string, seen map[string]bool) bool {
	i, way := c.resolve(ref)
	if i == nil {
		return false
	}
	if i.kind == "call" {
		return c.anySecret(i.value, seen)
	}
	s := c.tools.schema(i.kind, i.typ)
	return s != nil && sensitive(&s.Block, way)
}

// sensitive reports whether a provider calls what this way leads to in a block
// sensitive, or anything on the way there or below.
func sensitive(b *schema.Block, way []cue.Selector) bool {
	attributes, blocks := b.Attributes, b.Blocks
	for _, s := range way {
		if s.LabelType() == cue.IndexLabel {
			continue
		}
		if a := attributes[s.Unquoted()]; a != nil {
			if a.Sensitive {
				return true
			}
			attributes, blocks = nested(a), nil
		} else if n := blocks[s.Unquoted()]; n != nil {
			attributes, blocks = n.Block.Attributes, n.Block.Blocks
		}
	}
	return len(way) > 0 && below(attributes, blocks)
}

// below reports whether any of these is called sensitive, or anything in them.
func below(attributes map[string]*schema.Attribute, blocks map[string]*schema.Nested) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(attributes)), func(a *schema.Attribute) bool {
		return a.Sensitive || below(nested(a), nil)
	}) || slices.ContainsFunc(slices.Collect(maps.Values(blocks)), func(n *schema.Nested) bool {
		return below(n.Block.Attributes, n.Block.Blocks)
	})
}

// nested are the attributes of the objects that an attribute holds.
func nested(a *schema.Attribute) map[string]*schema.Attribute {
	if a.Nesting == nil {
		return nil
	}
	return a.Nesting.Attributes
}
