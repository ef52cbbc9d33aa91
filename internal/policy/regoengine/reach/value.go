package reach

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A value is what a term may be when the policy is evaluated: any one of its
// alternatives. The zero value is a term that is never defined.
type value struct {
	places  []*node              // what the input has at these places
	made    []*composite         // lists, objects and sets that the policy makes
	scalars map[string]ast.Value // constants, by how they are written
	other   bool                 // something else that shares nothing with the input
}

// A composite is a list, an object or a set that a policy makes out of other
// values. Its keys have been compared, as soon as it was made.
type composite struct {
	set     bool
	list    bool             // written out, so that members are all it has
	shown   bool             // whether show has been here, so that it goes on only once
	told    bool             // the same for compare
	members map[string]value // by the index or name, as it is written
	rest    value            // any other member or element
}

var other = value{other: true}

func scalar(v ast.Value) value {
	return value{scalars: map[string]ast.Value{v.String(): v}}
}

func place(n *node) value { return value{places: []*node{n}} }

func made(c composite) value { return value{made: []*composite{&c}} }

func union(values ...value) (u value) {
	for _, v := range values {
		for _, n := range v.places {
			if !slices.Contains(u.places, n) {
				u.places = append(u.places, n)
			}
		}
		for _, c := range v.made {
			if !slices.Contains(u.made, c) {
				u.made = append(u.made, c)
			}
		}
		if len(v.scalars) > 0 && u.scalars == nil {
			u.scalars = map[string]ast.Value{}
		}
		maps.Copy(u.scalars, v.scalars)
		u.other = u.other || v.other
	}
	return u
}

// simple says that v is a string, a number, a boolean or null, and one of
// those that the policy itself has.
func (v value) simple() bool {
	return len(v.places) == 0 && len(v.made) == 0 && !v.other
}

// key writes v so that equal texts are the same values.
func (v value) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %q", v.other, slices.Sorted(maps.Keys(v.scalars)))
	for _, n := range v.places {
		fmt.Fprintf(&b, " %p", n)
	}
	for _, c := range v.made {
		fmt.Fprintf(&b, " %p", c)
	}
	return b.String()
}

// path returns the elements of a list that is written out.
func (v value) path() (steps []value, ok bool) {
	if len(v.made) != 1 || !v.made[0].list || len(v.places) > 0 || len(v.scalars) > 0 || v.other {
		return nil, false
	}
	for i := range len(v.made[0].members) {
		steps = append(steps, v.made[0].members[strconv.Itoa(i)])
	}
	return steps, true
}

// at is what v has at a constant key or index.
func (v value) at(key ast.Value) value {
	var out []value
	for _, n := range v.places {
		if name, ok := key.(ast.String); ok {
			out = append(out, place(n.member(string(name))))
		} else {
			out = append(out, place(n.element())) // the names of JSON are strings, so it is an index
		}
	}
	for _, c := range v.made {
		if member, ok := c.members[key.String()]; ok {
			out = append(out, member)
		}
		out = append(out, c.rest)
	}
	if v.other {
		out = append(out, other)
	}
	return union(out...)
}

// each is any member or element of v. That it is asked for says that all of
// them are seen to be there.
func (v value) each() value {
	var out []value
	for _, n := range v.places {
		out = append(out, place(n.element()))
	}
	for _, c := range v.made {
		out = append(out, c.rest)
		for _, member := range c.members {
			out = append(out, member)
		}
	}
	if v.other {
		out = append(out, other)
	}
	return union(out...)
}

// inSets is any element of the sets that v may be.
func (v value) inSets() (u value) {
	for _, c := range v.made {
		if c.set {
			u = union(u, c.rest)
		}
	}
	return u
}

// keys is any key or index of v; of a set these are the elements.
func (v value) keys() value { return union(other, v.inSets()) }

// show marks everything that v may be as seen as a whole.
func (v value) show() {
	for _, n := range v.places {
		n.whole = true
	}
	for _, c := range v.made {
		if c.shown {
			continue
		}
		c.shown = true
		c.rest.show()
		for _, member := range c.members {
			member.show()
		}
	}
}

// compare marks what it takes to tell any two of the values that v may be
// apart, and to put them in order. Values from one list of unique elements
// can be told apart by themselves, and still can as parts of values that are
// otherwise made alike; all else is shown. Scalars are always seen, and that is
// enough to compare anything with one.
func (v value) compare() {
	switch {
	case len(v.places)+len(v.made) == 0:
	case v.other || len(v.places)+len(v.made) > 1:
		v.show()
	case len(v.places) == 1 && v.places[0].listed:
		v.places[0].apart = true
	case len(v.places) == 1:
		v.show()
	case !v.made[0].told:
		c := v.made[0]
		c.told = true
		c.rest.compare()
		for _, member := range c.members {
			member.compare()
		}
	}
}

// same marks what it takes to say whether v and w are equal, or which is less.
func same(v, w value) {
	if !v.simple() && !w.simple() {
		union(v, w).compare()
	}
}

// compareKey marks what it takes to find a key in v. What comes from the input
// has names and indices, which are scalars; anything may be an element of a set
// or a key of an object that the policy made.
func (v value) compareKey(key value) {
	same(key, v.inSets())
	for _, c := range v.made {
		if !c.set {
			key.show()
		}
	}
	if v.other {
		key.show()
	}
}
