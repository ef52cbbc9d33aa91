package reach

import (
	"maps"
	"slices"
	"strings"
)

// A Tree says what a policy can see of one JSON value. Strings, numbers,
// booleans and null are always seen, the type and the length of a value too;
// so a Tree is about what is in objects. A nil Tree is for what is not looked
// at in any way and may be left out of its object. Trees are not changed once
// made.
type Tree struct {
	// Whole means that everything is seen, at any depth.
	Whole bool
	// Apart means that the value is compared with others from the same list,
	// and with nothing else: whether and how they differ must stay as it is.
	Apart bool

	named map[string]*Tree
	each  *Tree // of every member and element; the trees in named include it
}

// Member is what is seen of the member of that name, if the value is an
// object.
func (t *Tree) Member(name string) *Tree {
	if t.Whole {
		return t
	}
	if member, ok := t.named[name]; ok {
		return member
	}
	return t.each
}

// Element is what is seen of the elements, if the value is a list. It is never
// nil: that an element is there is always seen.
func (t *Tree) Element() *Tree {
	switch {
	case t.Whole:
		return t
	case t.each != nil:
		return t.each
	}
	return &Tree{}
}

// String lists the paths that are seen, one a line and in order: * stands for
// every member or element, and ** for everything below.
func (t *Tree) String() string {
	var lines []string
	t.list("input", &lines)
	return strings.Join(lines, "\n")
}

func (t *Tree) list(path string, lines *[]string) {
	if t.Apart {
		path += "!"
	}
	switch {
	case t.Whole:
		*lines = append(*lines, path+".**")
		return
	case t.each == nil && len(t.named) == 0:
		*lines = append(*lines, path)
	}
	if t.each != nil {
		t.each.list(path+".*", lines)
	}
	for _, name := range slices.Sorted(maps.Keys(t.named)) {
		t.named[name].list(path+"."+name, lines)
	}
}

// A node is a Tree in the making: it stands for the values at one path of the
// input. The analysis only ever adds to it.
type node struct {
	whole, apart bool
	named        map[string]*node
	each         *node
	listed       bool     // one of the elements that are unique
	unique       []string // the way from here to the list of those, if it is not nil
}

func (n *node) member(name string) *node {
	m := n.named[name]
	if m == nil {
		if n.named == nil {
			n.named = map[string]*node{}
		}
		m = &node{}
		if len(n.unique) > 0 && n.unique[0] == name {
			m.unique = n.unique[1:]
		}
		n.named[name] = m
	}
	return m
}

func (n *node) element() *node {
	if n.each == nil {
		n.each = &node{listed: n.unique != nil && len(n.unique) == 0}
	}
	return n.each
}

// tree merges nodes that stand for the same value: a member is seen by its own
// name and as one of all.
func (a *analysis) tree(nodes ...*node) *Tree {
	if a.steps++; a.steps > maxSteps {
		return &Tree{Whole: true}
	}
	t := &Tree{}
	var each []*node
	named := map[string][]*node{}
	for _, n := range nodes {
		if n.whole {
			return &Tree{Whole: true}
		}
		t.Apart = t.Apart || n.apart
		if n.each != nil {
			each = append(each, n.each)
		}
		for name, m := range n.named {
			named[name] = append(named[name], m)
		}
	}
	if len(each) > 0 {
		t.each = a.tree(each...)
	}
	t.named = make(map[string]*Tree, len(named))
	for name, members := range named {
		t.named[name] = a.tree(slices.Concat(members, each)...)
	}
	return t
}
