package redact

// A tree finds all of many texts in one pass over a stream (Aho and Corasick,
// 1975). The libraries for it want the whole text at once, or do not say how
// much of it may still become a match, which is what a stream must know.
type tree struct {
	nodes []node       // the root is the first
	rows  [][256]int32 // where to go from a node with many children, and from the root
}

// A node is a beginning of some form.
type node struct {
	child, sibling int32 // 0 for none
	fail           int32 // the longest other node that this one ends with
	depth          int32 // its length
	match          int32 // the length of the longest form that it ends with; 0 for none
	row            int32 // in rows; -1 for none
	letter         byte  // its last
}

// crowd is the number of children from which on a node has a row.
const crowd = 8

// grow makes the tree of the forms, none of which is empty.
func grow(forms []string) tree {
	t := tree{nodes: []node{{row: -1}}}
	for _, form := range forms {
		at := int32(0)
		for i := range len(form) {
			next := t.child(at, form[i])
			if next == 0 {
				next = int32(len(t.nodes))
				t.nodes = append(t.nodes, node{letter: form[i], depth: int32(i + 1), sibling: t.nodes[at].child, row: -1})
				t.nodes[at].child = next
			}
			at = next
		}
		t.nodes[at].match = int32(len(form))
	}
	t.link()
	return t
}

// child is the one that a letter leads to, 0 for none.
func (t *tree) child(at int32, letter byte) int32 {
	for c := t.nodes[at].child; c != 0; c = t.nodes[c].sibling {
		if t.nodes[c].letter == letter {
			return c
		}
	}
	return 0
}

// link goes by depth, because what a node falls back to is shorter than it.
func (t *tree) link() {
	t.crowded(0)
	for queue := []int32{0}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for c := t.nodes[at].child; c != 0; c = t.nodes[c].sibling {
			if at != 0 {
				t.nodes[c].fail = t.step(t.nodes[at].fail, t.nodes[c].letter)
			}
			if t.nodes[c].match == 0 {
				t.nodes[c].match = t.nodes[t.nodes[c].fail].match
			}
			t.crowded(c)
			queue = append(queue, c)
		}
	}
}

// crowded gives a node its row, if it is to have one. The nodes it falls back to have theirs.
func (t *tree) crowded(at int32) {
	children := 0
	for c := t.nodes[at].child; c != 0; c = t.nodes[c].sibling {
		children++
	}
	if at != 0 && children < crowd {
		return
	}
	var row [256]int32
	for letter := range row {
		next := t.child(at, byte(letter))
		if next == 0 && at != 0 {
			next = t.step(t.nodes[at].fail, byte(letter))
		}
		row[letter] = next
	}
	t.nodes[at].row = int32(len(t.rows))
	t.rows = append(t.rows, row)
}

// step goes from the longest beginning of a form that a text ends with to that
// of the text with one letter more. Over a text, it takes as many turns as
// there are letters, twice.
func (t *tree) step(at int32, letter byte) int32 {
	for {
		n := &t.nodes[at]
		if n.row >= 0 {
			return t.rows[n.row][letter]
		}
		if next := t.child(at, letter); next != 0 {
			return next
		}
		at = n.fail
	}
}
