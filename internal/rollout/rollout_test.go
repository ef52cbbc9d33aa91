package rollout_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/rollout"
	"github.com/assize-iac/assize/internal/stack"
)

func key(name string) stack.Key { return stack.Key{Path: name} }

func keys(names string) []stack.Key {
	var out []stack.Key
	for _, name := range strings.Fields(names) {
		out = append(out, key(name))
	}
	return out
}

// blocks says who depends on whom, through others too: "a: b c".
func blocks(edges ...string) func(stack.Key) []stack.Key {
	return func(k stack.Key) []stack.Key {
		for _, e := range edges {
			if from, to, _ := strings.Cut(e, ":"); from == k.String() {
				return keys(to)
			}
		}
		return nil
	}
}

// told writes results as "stack wave status via".
func told(results []api.StackResult) string {
	var out []string
	for _, r := range results {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %d %s %s", r.Stack, r.Wave, r.Status, r.Via)))
	}
	return strings.Join(out, "\n")
}

func TestRun(t *testing.T) {
	t.Parallel()
	ends := func(statuses map[string]api.StackStatus) rollout.Work {
		return func(_ context.Context, k stack.Key, _ func(string)) api.StackResult {
			switch s := statuses[k.String()]; s {
			case "":
				return api.StackResult{Status: api.StackPlanned, Stack: "a lie", Wave: 9, Seconds: 9}
			case "panic":
				panic("hunter2")
			default:
				return api.StackResult{Status: s}
			}
		}
	}
	for name, tt := range map[string]struct {
		waves  []string
		blocks []string
		ends   map[string]api.StackStatus
		want   string
	}{
		"nothing":   {nil, nil, nil, ""},
		"all well":  {[]string{"b a", "c"}, nil, nil, "a 0 planned\nb 0 planned\nc 1 planned"},
		"a failure": {[]string{"a b", "c d", "e"}, []string{"a:c e"}, map[string]api.StackStatus{"a": api.StackFailed}, "a 0 failed\nb 0 planned\nc 1 blocked a\nd 1 planned\ne 2 blocked a"},
		"the first of several that block": {[]string{"a b", "c", "d"}, []string{"a:d", "b:c d", "c:d"},
			map[string]api.StackStatus{"a": api.StackRefused, "b": api.StackFailed}, "a 0 refused\nb 0 failed\nc 1 blocked b\nd 2 blocked a"},
		"a panic":               {[]string{"a b", "c"}, []string{"a:c"}, map[string]api.StackStatus{"a": "panic"}, "a 0 failed\nb 0 planned\nc 1 blocked a"},
		"a status nobody knows": {[]string{"a", "c"}, []string{"a:c"}, map[string]api.StackStatus{"a": "fine"}, "a 0 failed\nc 1 blocked a"},
		"an end nobody knows":   {[]string{"a", "c"}, []string{"a:c"}, map[string]api.StackStatus{"a": api.StackApplying}, "a 0 applying\nc 1 blocked a"},
		"work says skipped":     {[]string{"a", "c"}, []string{"a:c"}, map[string]api.StackStatus{"a": api.StackSkipped}, "a 0 skipped\nc 1 blocked a"},
		"an empty wave":         {[]string{"", "a"}, nil, nil, "a 1 planned"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := rollout.Order{Blocks: blocks(tt.blocks...), Now: time.Now}
			for _, wave := range tt.waves {
				o.Waves = append(o.Waves, keys(wave))
			}
			results := rollout.Run(t.Context(), o, ends(tt.ends))
			if diff := cmp.Diff(tt.want, told(results)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, r := range results {
				if strings.Contains(r.Error, "hunter2") || r.Status == api.StackFailed && tt.ends[r.Stack] != api.StackFailed && (r.Exit != 1 || r.Hint == "") {
					t.Errorf("what broke down is told as %+v", r)
				}
			}
		})
	}
}

// TestTime checks what is told, when, and how long it took.
func TestTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []string
		began := time.Now()
		o := rollout.Order{
			Waves: [][]stack.Key{keys("a b c"), keys("d")}, Parallel: 2, Blocks: blocks(), Now: time.Now,
			Watch: func(e api.RolloutEvent) {
				at, err := time.Parse(time.RFC3339Nano, e.Time)
				if err != nil {
					t.Error(err)
				}
				line := fmt.Sprintf("%s %s %s%s", at.Sub(began), e.Event, e.Stack, e.Phase)
				switch {
				case e.Result != nil:
					line += fmt.Sprintf(" %s %gs", e.Result.Status, e.Result.Seconds)
				case e.Rollout != nil:
					line += told(e.Rollout.Stacks)
				}
				got = append(got, line)
			},
		}
		var late func(string)
		rollout.Run(t.Context(), o, func(_ context.Context, k stack.Key, phase func(string)) api.StackResult {
			if late != nil {
				late("too late")
			}
			time.Sleep(map[string]time.Duration{"a": 1500 * time.Millisecond, "b": 2 * time.Second, "c": time.Second, "d": time.Second}[k.Path])
			if k.Path == "a" {
				phase("judging")
				late = phase
				time.Sleep(250 * time.Millisecond)
			}
			return api.StackResult{Status: api.StackApplied}
		})
		want := strings.Join([]string{
			"0s begin a 0\nb 0\nc 0\nd 1",
			"1.5s phase ajudging", "1.75s stack a applied 1.75s",
			"2s stack b applied 2s", "2.75s stack c applied 1s", "3.75s stack d applied 1s",
		}, "\n")
		if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestInterrupted checks that nothing begins after an interrupt, and that what is
// at work is waited for.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		o := rollout.Order{Waves: [][]stack.Key{keys("a b c"), keys("d e f")}, Parallel: 2, Blocks: blocks("a:d", "b:e", "c:f"), Now: time.Now}
		results := rollout.Run(ctx, o, func(ctx context.Context, k stack.Key, _ func(string)) api.StackResult {
			<-ctx.Done()
			time.Sleep(time.Minute)
			if k.Path == "a" {
				return api.StackResult{Status: api.StackFailed}
			}
			return api.StackResult{Status: api.StackApplied}
		})
		want := "a 0 failed\nb 0 applied\nc 0 skipped\nd 1 blocked a\ne 1 skipped\nf 1 skipped"
		if diff := cmp.Diff(want, told(results)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A world is a random graph with what becomes of its stacks.
type world struct {
	waves    [][]stack.Key
	needs    map[stack.Key][]stack.Key // directly
	ends     map[stack.Key]api.StackStatus
	takes    map[stack.Key]time.Duration
	parallel int
}

func worlds(t *rapid.T) world {
	w := world{needs: map[stack.Key][]stack.Key{}, ends: map[stack.Key]api.StackStatus{}, takes: map[stack.Key]time.Duration{},
		parallel: rapid.IntRange(0, 4).Draw(t, "parallel")}
	var earlier []stack.Key
	for wave := range rapid.IntRange(0, 5).Draw(t, "waves") {
		var now []stack.Key
		for i := range rapid.IntRange(0, 6).Draw(t, "stacks") {
			k := stack.Key{Path: fmt.Sprintf("s%d", wave), Instance: fmt.Sprintf("i%d", i)}
			now = append(now, k)
			if len(earlier) > 0 {
				w.needs[k] = rapid.SliceOfN(rapid.SampledFrom(earlier), 0, 2).Draw(t, "needs")
			}
			w.ends[k] = rapid.SampledFrom([]api.StackStatus{api.StackPlanned, api.StackPlanned, api.StackUnchanged, api.StackFailed, api.StackRefused, "panic", ""}).Draw(t, "end")
		}
		earlier = append(earlier, now...)
		w.waves = append(w.waves, rapid.Permutation(now).Draw(t, "wave"))
	}
	w.reorder(t)
	return w
}

// reorder draws anew how long each stack takes.
func (w world) reorder(t *rapid.T) {
	for _, k := range slices.Concat(w.waves...) {
		w.takes[k] = time.Duration(rapid.IntRange(0, 20).Draw(t, "takes")) * time.Second
	}
}

// dependents are all that need k, through others too.
func (w world) dependents(k stack.Key) []stack.Key {
	var out []stack.Key
	for _, other := range slices.Concat(w.waves...) {
		if slices.ContainsFunc(w.needs[other], func(n stack.Key) bool { return n == k || slices.Contains(out, n) }) {
			out = append(out, other)
		}
	}
	return out
}

// play runs a world and checks what holds of every one.
func (w world) play(t *testing.T) string {
	var (
		mu      sync.Mutex
		working int
		ended   = map[stack.Key]bool{}
		events  = map[string]int{}
	)
	o := rollout.Order{Waves: w.waves, Parallel: w.parallel, Blocks: w.dependents, Now: time.Now, Watch: func(e api.RolloutEvent) {
		events[e.Event]++
	}}
	results := rollout.Run(t.Context(), o, func(_ context.Context, k stack.Key, _ func(string)) api.StackResult {
		mu.Lock()
		if working++; working > max(1, w.parallel) {
			t.Errorf("%d at work", working)
		}
		for _, n := range w.needs[k] {
			if !ended[n] {
				t.Errorf("%s began before %s ended", k, n)
			}
		}
		mu.Unlock()
		time.Sleep(w.takes[k])
		mu.Lock()
		defer mu.Unlock()
		working--
		ended[k] = true
		if w.ends[k] == "panic" {
			panic(k)
		}
		return api.StackResult{Status: w.ends[k]}
	})
	all := slices.Concat(w.waves...)
	if len(results) != len(all) || events["begin"] != 1 || events["stack"] != len(all) {
		t.Errorf("%d results and %v of %d stacks", len(results), events, len(all))
	}
	status := map[string]api.StackResult{}
	for _, r := range results {
		status[r.Stack] = r
	}
	for _, k := range all {
		r, ok := status[k.String()]
		var via []string // what it needs and is not good, through others too
		for _, other := range all {
			if s := status[other.String()]; !s.Status.Good() && s.Status != api.StackBlocked && slices.Contains(w.dependents(other), k) {
				via = append(via, other.String())
			}
		}
		slices.Sort(via)
		if blocked := r.Status == api.StackBlocked; !ok || blocked != (len(via) > 0) || blocked && r.Via != via[0] || ended[k] == blocked {
			t.Errorf("%s is %+v, and what it needs did not end well: %v", k, r, via)
		}
	}
	if c := rollout.Count(results); c.Failed+c.Refused+c.Blocked+c.Planned+c.Unchanged != len(all) || (rollout.Exit(results) == 0) != (c.Failed+c.Refused+c.Blocked == 0) {
		t.Errorf("%+v ends with %d", c, rollout.Exit(results))
	}
	return told(results)
}

// TestWorlds checks rules 1, 2, 4 and 5 of docs/rollouts.md on random graphs, and
// that the results do not depend on who is faster.
func TestWorlds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := worlds(rt)
		var one, other string
		synctest.Test(t, func(t *testing.T) { one = w.play(t) })
		w.reorder(rt)
		synctest.Test(t, func(t *testing.T) { other = w.play(t) })
		if diff := cmp.Diff(one, other); diff != "" {
			rt.Fatalf("it depends on the time (-one +other):\n%s", diff)
		}
	})
}

func TestExit(t *testing.T) {
	t.Parallel()
	result := func(s api.StackStatus, exit int) api.StackResult { return api.StackResult{Status: s, Exit: exit} }
	for name, tt := range map[string]struct {
		results []api.StackResult
		want    int
	}{
		"none":             {nil, 0},
		"good":             {[]api.StackResult{result(api.StackPlanned, 2), result(api.StackDrifted, 0)}, 0},
		"policy":           {[]api.StackResult{result(api.StackRefused, 5), result(api.StackBlocked, 0), result(api.StackRefused, 3)}, 5},
		"refused":          {[]api.StackResult{result(api.StackRefused, 0)}, 3},
		"an error first":   {[]api.StackResult{result(api.StackRefused, 5), result(api.StackFailed, 0)}, 1},
		"failed with 3":    {[]api.StackResult{result(api.StackFailed, 3)}, 3},
		"blocked alone":    {[]api.StackResult{result(api.StackBlocked, 0)}, 3},
		"skipped":          {[]api.StackResult{result(api.StackSkipped, 0)}, 1},
		"no known end":     {[]api.StackResult{result(api.StackApplying, 0)}, 1},
		"no status":        {[]api.StackResult{result("", 0)}, 1},
		"no code there is": {[]api.StackResult{result(api.StackFailed, 42)}, 1},
	} {
		if got := rollout.Exit(tt.results); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
