package stack

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
)

// names that are near each other: prefixes, nested directories, instances.
var names = []string{".", "a", "a/b", "a/b/c", "ab", "a-b", "b:x", "b:y", "b/a:x", "c:x", "c:z", "d", "d/e", "dd"}

var moduleNames = []string{"m", "m/n", "mm", "m-n", "a/m", "o"}

// scanned draws a repository. Dependencies go from a later name to an earlier
// one, so that there is an order; what goes through modules goes to the first
// two, for who reads those cannot be told beforehand.
func scanned(t *rapid.T) Scanned {
	s := Scanned{Repo: "o/r"}
	some := func(from []string, label string) []string {
		if len(from) == 0 {
			return nil
		}
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 3, rapid.ID).Draw(t, label)
	}
	calls := func(from []string) []Call {
		out := []Call{git("o/r//m", "v1")}
		for _, m := range some(from, "calls") {
			out = append(out, local(m))
		}
		return out
	}
	for i, name := range names {
		st := st(name, some(names[:i], "depends on")...).calling(calls(moduleNames)...)
		for _, r := range some(names[:i], "reads") {
			st.Reads = append(st.Reads, s3(r))
		}
		st.Ignore = some(names[:i], "ignores")
		st.WatchPaths = some(changeable, "watches")
		if i < 2 {
			st.Calls = nil
		}
		s.Stacks = append(s.Stacks, st)
	}
	s.Stacks[3].DependsOn = append(s.Stacks[3].DependsOn, "x/y//z", "nowhere")
	for _, m := range moduleNames {
		s.Modules = append(s.Modules, Module{Path: m, Calls: calls(moduleNames), Reads: []State{s3(rapid.SampledFrom(names[:2]).Draw(t, "module reads"))}})
	}
	return s
}

var changeable = []string{"main.tf", "a/x", "a/b", "a/b/x", "a/b/c/x", "ab/x", "abc", "b/x", "c/.terraform/x", "d", "dd/e/x", "m/x", "m/n/x", "mm/x", "vars.tfvars"}

func changes(t *rapid.T) Changes {
	return Changes{
		Paths: rapid.SliceOf(rapid.SampledFrom(changeable)).Draw(t, "paths"),
		Only:  rapid.Bool().Draw(t, "only"),
	}
}

func affected(t *rapid.T, g Graph, c Changes) api.Affected {
	a, err := Affected(g, c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func affectedKeys(a api.Affected) map[string]int {
	out := map[string]int{}
	for _, s := range a.Stacks {
		out[s.Key] = s.Wave
	}
	return out
}

func mustBuild(t *rapid.T, s Scanned) Graph {
	g, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestEveryEdgeGoesToALaterWave is "edge direction is From depends on To, so To
// applies first and wave(To) < wave(From)" (seed 004, "Identities and names"). It also checks that a wave is never later than it
// must be, that the waves hold exactly the affected stacks, and that nothing is
// affected without a reason.
func TestEveryEdgeGoesToALaterWave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := mustBuild(t, scanned(t))
		c := changes(t)
		c.Requested = keysOf(rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, "requested"))
		a := affected(t, g, c)
		wave := affectedKeys(a)
		for from, w := range wave {
			longest := -1
			for _, k := range g.Dependencies(mustKey(from)) {
				if to, in := wave[k.String()]; in {
					longest = max(longest, to)
				}
			}
			if longest+1 != w {
				t.Fatalf("%s is in wave %d, and what it depends on up to wave %d", from, w, longest)
			}
		}
		count := 0
		for w, keys := range a.Waves {
			count += len(keys)
			for _, key := range keys {
				if wave[key] != w {
					t.Fatalf("%s is in waves %d and %d", key, w, wave[key])
				}
			}
		}
		if count != len(a.Stacks) {
			t.Fatalf("%d stacks and %d in waves", len(a.Stacks), count)
		}
		explained(t, a)
	})
}

func explained(t *rapid.T, a api.Affected) {
	for _, s := range a.Stacks {
		var via []api.Reason
		for _, v := range s.Via {
			if v.From == "" {
				t.Fatalf("%s: %s by nothing", s.Key, v.Reason)
			}
			via = append(via, v.Reason)
		}
		if len(s.Reasons) == 0 || !slices.Equal(s.Reasons, slices.Compact(via)) {
			t.Fatalf("%s has reasons %v, via %v", s.Key, s.Reasons, s.Via)
		}
	}
}

func keysOf(texts []string) []Key {
	var out []Key
	for _, text := range texts {
		out = append(out, mustKey(text))
	}
	return out
}

func TestInputOrderNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, c := scanned(t), changes(t)
		g := mustBuild(t, s)
		want, wantAffected := g.Shape(), affected(t, g, c)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		shuffle(r, s.Stacks)
		shuffle(r, s.Modules)
		for _, st := range s.Stacks {
			shuffle(r, st.DependsOn)
			shuffle(r, st.Ignore)
			shuffle(r, st.Calls)
			shuffle(r, st.Reads)
		}
		shuffle(r, c.Paths)
		again := mustBuild(t, s)
		if diff := cmp.Diff(want, again.Shape()); diff != "" {
			t.Fatalf("graph (-first +shuffled):\n%s", diff)
		}
		if diff := cmp.Diff(wantAffected, affected(t, again, c)); diff != "" {
			t.Fatalf("affected (-first +shuffled):\n%s", diff)
		}
	})
}

func shuffle[E any](r *rand.Rand, list []E) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func TestAffectedIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := mustBuild(t, scanned(t))
		less := changes(t)
		more := less
		more.Paths = append(slices.Clone(less.Paths), rapid.SliceOf(rapid.SampledFrom(changeable)).Draw(t, "more")...)
		more.Only = less.Only && rapid.Bool().Draw(t, "still only")
		subset(t, affected(t, g, less), affected(t, g, more))
	})
}

func subset(t *rapid.T, small, large api.Affected) {
	in := affectedKeys(large)
	for key := range affectedKeys(small) {
		if _, ok := in[key]; !ok {
			t.Fatalf("%s is affected by less and not by more", key)
		}
	}
}

func TestRemovingAnEdgeNeverAddsStacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, c := scanned(t), changes(t)
		before := affected(t, mustBuild(t, s), c)
		i := rapid.IntRange(0, len(s.Stacks)-1).Draw(t, "stack")
		switch st := &s.Stacks[i]; rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			st.DependsOn = st.DependsOn[:len(st.DependsOn)/2]
		case 1:
			st.Reads = st.Reads[:len(st.Reads)/2]
		case 2:
			st.Calls = st.Calls[:len(st.Calls)/2]
		case 3:
			m := &s.Modules[i%len(s.Modules)]
			m.Calls, m.Reads = nil, nil
		}
		subset(t, affected(t, mustBuild(t, s), c), before)
	})
}

// TestCyclesAreCycles checks, on any dependencies at all, that there is either
// an order or a path that comes back, each told once, along edges that are there.
func TestCyclesAreCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Scanned
		edges := map[string]bool{}
		letters := []string{"a", "b", "c", "d", "e", "f", "g"}
		for _, name := range letters {
			needs := rapid.SliceOfNDistinct(rapid.SampledFrom(letters), 0, 2, rapid.ID).Draw(t, name)
			s.Stacks = append(s.Stacks, st(name, needs...))
			for _, to := range needs {
				edges[name+to] = true
			}
		}
		b, err := newBuilder(s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.stacks {
			b.depend(i)
		}
		b.connect()
		ordered := b.arrange() == nil
		told := map[string]bool{}
		paths := b.cycles().Paths
		for _, p := range paths {
			for i := range p[1:] {
				if !edges[p[i]+p[i+1]] {
					t.Fatalf("%v: there is no such edge", p)
				}
			}
			if text := fmt.Sprint(p); p[0] != p[len(p)-1] || told[text] || slices.Min(p) != p[0] {
				t.Fatalf("%v is no cycle, told twice, or begins in the middle", p)
			} else {
				told[text] = true
			}
		}
		if ordered != (len(paths) == 0) {
			t.Fatalf("ordered is %v, with cycles %v", ordered, paths)
		}
	})
}
