package stack

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// estate is a repository of n stacks, a tenth as many modules, and four edges
// for every stack: two declared, one inferred, one or more to a module.
func estate(n int) Scanned {
	r := rand.New(rand.NewPCG(1, 2))
	var s Scanned
	for i := range n / 10 {
		m := Module{Path: fmt.Sprintf("modules/m%d", i)}
		if i > 0 && i%3 == 0 {
			m.Calls = []Call{local(fmt.Sprintf("modules/m%d", r.IntN(i)))}
		}
		s.Modules = append(s.Modules, m)
	}
	name := func(i int) string { return fmt.Sprintf("teams/t%d/s%d", i%97, i) }
	for i := range n {
		st := st(name(i)).calling(local(fmt.Sprintf("modules/m%d", r.IntN(n/10))))
		if i > 0 {
			near := func() string { return name(max(0, i-1-r.IntN(200))) }
			st.DependsOn = []string{near(), near()}
			st.Reads = []State{s3(near())}
		}
		s.Stacks = append(s.Stacks, st)
	}
	return s
}

func BenchmarkGraph(b *testing.B) {
	for _, n := range []int{500, 5_000, 50_000} {
		s := estate(n)
		b.Run(fmt.Sprintf("build/%d", n), func(b *testing.B) {
			for b.Loop() {
				build(b, s)
			}
		})
		g := build(b, s)
		c := Changes{Paths: []string{"modules/m0/main.tf", "modules/m1/main.tf", "teams/t3/s3/main.tf"}}
		b.Run(fmt.Sprintf("affected/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Affected(g, c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestLongChain checks that nothing here recurses: a chain of 100,000 stacks has
// as many waves, and one that bites its tail is a cycle of as many.
func TestLongChain(t *testing.T) {
	const n = 100_000
	s := Scanned{Stacks: []Stack{st("s000000")}}
	for i := 1; i < n; i++ {
		s.Stacks = append(s.Stacks, st(fmt.Sprintf("s%06d", i), fmt.Sprintf("s%06d", i-1)))
	}
	a, err := Affected(build(t, s), Changes{Paths: []string{"s000000/main.tf"}})
	if err != nil || len(a.Waves) != n {
		t.Errorf("%d waves, want %d: %v", len(a.Waves), n, err)
	}
	s.Stacks[0].DependsOn = []string{fmt.Sprintf("s%06d", n-1)}
	if _, err := Build(s); err == nil {
		t.Error("a cycle of all stacks is in order")
	}
}
