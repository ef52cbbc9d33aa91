package stack

import (
	"cmp"
	"maps"
	"slices"

	"github.com/assize-iac/assize/api"
)

// modules are the modules of a graph. A module's number is its place among the
// sorted keys.
type modules struct {
	shapes  []api.StackModule
	byKey   map[string]int
	calls   [][]int // module: the modules that it calls
	callers [][]int // module: the modules that call it
	users   [][]int // module: the stacks that call it

	stackCalls [][]int   // stack: the modules that it calls
	reads      [][]State // module: the states that it reads itself
	leads      []bool    // module: whether it or one that it calls reads any state
}

// callModules adds the modules and the edges to them (docs/stacks.md, rule 10).
// A stack that others call as a module is one too, with the calls of all its
// instances.
func (b *builder) callModules(scanned []Module) {
	b.collectModules(scanned)
	m := &b.modules
	m.calls, m.callers, m.users = make([][]int, len(m.shapes)), make([][]int, len(m.shapes)), make([][]int, len(m.shapes))
	m.reads, m.stackCalls = make([][]State, len(m.shapes)), make([][]int, len(b.stacks))
	for _, sm := range scanned {
		b.fillModule(m.byKey[sm.Path], sm.Calls, sm.Reads)
	}
	for i, s := range b.stacks {
		m.stackCalls[i] = b.call(b.keys[i], s.Calls)
		for _, to := range m.stackCalls[i] {
			m.users[to] = append(m.users[to], i)
		}
		if as, called := m.byKey[s.Key.Path]; called && m.shapes[as].Kind == string(LocalModule) {
			b.fillModule(as, s.Calls, s.Reads)
		}
	}
	for i := range m.calls {
		m.calls[i] = sortedSet(m.calls[i])
		for _, to := range m.calls[i] {
			m.callers[to] = append(m.callers[to], i)
		}
	}
	var readers []int
	for i, reads := range m.reads {
		if len(reads) > 0 {
			readers = append(readers, i)
		}
	}
	m.leads = closure(len(m.shapes), readers, func(i int) []int { return m.callers[i] })
}

func (b *builder) fillModule(i int, calls []Call, reads []State) {
	b.modules.calls[i] = append(b.modules.calls[i], b.call(b.modules.shapes[i].Key, calls)...)
	b.modules.reads[i] = append(b.modules.reads[i], reads...)
}

// collectModules numbers every module that was scanned or is called. Where two
// would have one key, the local one counts: only it can be changed here.
func (b *builder) collectModules(scanned []Module) {
	found := map[string]api.StackModule{}
	add := func(m api.StackModule) {
		if old, ok := found[m.Key]; !ok || m.Kind == string(LocalModule) || old.Kind != string(LocalModule) && m.Kind < old.Kind {
			found[m.Key] = m
		}
	}
	addCalls := func(calls []Call) {
		for _, c := range calls {
			add(c.module())
		}
	}
	for _, m := range scanned {
		add(api.StackModule{Key: m.Path, Kind: string(LocalModule), Base: m.Path})
		addCalls(m.Calls)
	}
	for _, s := range b.stacks {
		addCalls(s.Calls)
	}
	b.modules.byKey = make(map[string]int, len(found))
	for i, key := range slices.Sorted(maps.Keys(found)) {
		b.modules.shapes = append(b.modules.shapes, found[key])
		b.modules.byKey[key] = i
	}
}

// module is what is called. A version is part of what it is, so two stacks with
// different versions do not use the same module.
func (c Call) module() api.StackModule {
	m := api.StackModule{Key: c.Key, Kind: string(c.Kind), Base: c.Key, Ref: c.Ref}
	if c.Kind == LocalModule {
		m.Ref = "" // there is only the one that is here
	}
	if m.Ref != "" {
		m.Key += "@" + m.Ref
	}
	return m
}

// call adds an edge for each module that is called and returns the modules. Of
// several calls of one, the source that sorts first stands for all.
func (b *builder) call(from string, calls []Call) []int {
	sources := map[int]api.Edge{}
	for _, c := range calls {
		m := c.module()
		to := b.modules.byKey[m.Key]
		if old, ok := sources[to]; !ok || c.Source < old.Source {
			sources[to] = api.Edge{From: from, To: m.Key, Kind: api.UsesModule, Source: c.Source, Ref: m.Ref}
		}
	}
	to := slices.Sorted(maps.Keys(sources))
	for _, i := range to {
		b.edges = append(b.edges, sources[i])
	}
	return to
}

// readings is every state that stack i reads, its own first, then by module. A
// state that several modules read is there once for each.
func (b *builder) readings(i int) []reading {
	m := &b.modules
	var out []reading
	for _, s := range sortedStates(b.stacks[i].Reads) {
		out = append(out, reading{state: s})
	}
	var via []int
	seen := map[int]bool{}
	enter := func(next []int) {
		for _, j := range next {
			if m.leads[j] && !seen[j] { // most modules read nothing, and there may be thousands
				seen[j] = true
				via = append(via, j)
			}
		}
	}
	enter(m.stackCalls[i])
	for k := 0; k < len(via); k++ {
		enter(m.calls[via[k]])
	}
	slices.Sort(via)
	for _, j := range via {
		for _, s := range sortedStates(m.reads[j]) {
			out = append(out, reading{s, m.shapes[j].Key})
		}
	}
	return out
}

// sortedStates returns the states that are known, each once.
func sortedStates(states []State) []State {
	out := slices.DeleteFunc(slices.Clone(states), func(s State) bool { return s == State{} })
	slices.SortFunc(out, func(a, b State) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID)) })
	return slices.Compact(out)
}

func sortedSet(list []int) []int {
	slices.Sort(list)
	return slices.Compact(list)
}
