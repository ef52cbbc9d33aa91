package stack

import (
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
)

// depend adds the edges that stack i declares (docs/stacks.md, rules 3 to 5).
func (b *builder) depend(i int) {
	from := b.stacks[i]
	for _, text := range from.DependsOn {
		k, err := ParseKey(text)
		if err == nil && k.Repo != "" && strings.EqualFold(k.Repo, b.shape.Repo) {
			k.Repo = ""
		}
		switch to, ok := b.resolve(from.Key, k); {
		case err != nil:
			b.warn("%s depends on %q, which is no stack's key", b.keys[i], text)
			b.need(i, b.absent(Key{Path: text}), api.DependsOn)
		case k.Repo != "":
			b.need(i, b.absent(k), api.DependsOn)
		case ok:
			b.need(i, to, api.DependsOn)
		default:
			b.warn("%s depends on %s, %s", b.keys[i], k, b.whyNot(k))
			b.need(i, b.absent(k), api.DependsOn)
		}
	}
}

// resolve finds the stack of this repository that k names where from says so: a
// directory alone is its instance of the same name, or the stack that is called
// exactly so, or the only one there is (seed 004, "Scan and graph").
func (b *builder) resolve(from, k Key) (int, bool) {
	in := b.byPath[k.Path]
	called := func(instance string) int {
		return slices.IndexFunc(in, func(i int) bool { return b.stacks[i].Key.Instance == instance })
	}
	at := called(k.Instance)
	if k.Instance == "" {
		if same := called(from.Instance); same >= 0 {
			at = same
		} else if at < 0 && len(in) == 1 {
			at = 0
		}
	}
	if k.Repo != "" || at < 0 {
		return none, false
	}
	return in[at], true
}

func (b *builder) whyNot(k Key) string {
	in := b.byPath[k.Path]
	if len(in) == 0 {
		return "which is no stack here"
	}
	if k.Instance == "" {
		return "which has several instances and none of the same name: " + b.list(in)
	}
	return "which is not one of its instances: " + b.list(in)
}

// absent returns the node of a stack that is not here. Nothing is known of it,
// and it is never scheduled.
func (b *builder) absent(k Key) int {
	key := k.String()
	if i, ok := b.byKey[key]; ok {
		return i
	}
	i := len(b.keys)
	b.keys = append(b.keys, key)
	b.byKey[key] = i
	b.needs = append(b.needs, nil)
	b.declared = append(b.declared, none)
	b.inferred = append(b.inferred, none)
	b.shape.Stacks = append(b.shape.Stacks, api.Stack{
		Key: key, Repo: k.Repo, Path: k.Path, Instance: k.Instance, External: k.Repo != "", Unknown: k.Repo == "",
	})
	return i
}

// need adds an edge unless it is there, and says whether it was not.
func (b *builder) need(from, to int, kind api.EdgeKind) bool {
	last := b.declared
	if kind == api.ReadsState {
		last = b.inferred
	}
	if last[to] == from {
		return false
	}
	last[to] = from
	b.needs[from] = append(b.needs[from], need{to, kind})
	if kind == api.DependsOn {
		b.edges = append(b.edges, api.Edge{From: b.keys[from], To: b.keys[to], Kind: kind})
	}
	return true
}

// shareStates warns of stacks that would overwrite each other's state
// (docs/stacks.md, rule 9).
func (b *builder) shareStates() {
	for state, in := range b.states {
		if len(in) > 1 {
			b.warn("several stacks keep their state in the same place, %s %s: %s", state.Type, state.ID, b.list(in))
		}
	}
}

// A reading is a state that a stack reads, itself or through a module.
type reading struct {
	state   State
	through string // key of the module; "" for the stack itself
}

// read adds the edges that follow from what stack i reads (docs/stacks.md, rules
// 6 to 8).
func (b *builder) read(i int) {
	ignored := b.ignored(i)
	for _, r := range b.readings(i) {
		for _, to := range b.states[r.state] {
			switch {
			case to == i:
				b.warn("%s reads its own state, which orders nothing", b.keys[i])
			case b.declared[to] == i: // declared, which says more
			case slices.Contains(ignored, to):
				b.warn("%s reads the state of %s, and ignore_inferred says to leave that out of the order", b.keys[i], b.keys[to])
			case b.need(i, to, api.ReadsState):
				b.edges = append(b.edges, api.Edge{From: b.keys[i], To: b.keys[to], Kind: api.ReadsState,
					Inferred: true, State: r.state.ref(), Through: r.through})
			}
		}
	}
}

// ignored are the stacks whose inferred edges stack i does without. An entry
// that names none suppresses nothing (seed 004, "Scan and graph").
func (b *builder) ignored(i int) []int {
	var out []int
	for _, text := range b.stacks[i].Ignore {
		k, err := ParseKey(text)
		if err != nil {
			continue
		}
		if strings.EqualFold(k.Repo, b.shape.Repo) {
			k.Repo = ""
		}
		if to, ok := b.resolve(b.stacks[i].Key, k); ok {
			out = append(out, to)
		}
	}
	return out
}

func (s State) ref() *api.StateRef {
	if s == (State{}) {
		return nil
	}
	return &api.StateRef{Type: s.Type, ID: s.ID}
}
