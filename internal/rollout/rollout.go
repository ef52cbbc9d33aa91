// Package rollout takes stacks through their waves: in order, several at a time,
// and none whose upstream did not end well. What is done to a stack, and what a
// result means, it must not know.
package rollout

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/stack"
)

// An Order says what is to be done when.
type Order struct {
	Waves    [][]stack.Key               // each stack once; a wave begins when all of the one before have ended
	Parallel int                         // how many stacks at a time; less than 1 is 1
	Blocks   func(stack.Key) []stack.Key // who must not go on when this one has not ended well, through others too
	Watch    func(api.RolloutEvent)      // called by one goroutine at a time; may be nil
	Now      func() time.Time
}

// Work does one stack. It calls phase with what is being done from now on, such
// as "planning", and first of all: until then the stack seems to wait. Of the result, [Run] fills in the stack, the wave and the seconds.
type Work func(ctx context.Context, k stack.Key, phase func(string)) api.StackResult

// Run works on every stack, and returns one result for each, by wave and then by
// key, whatever came to an end first (docs/rollouts.md, rules 1 to 6). It returns
// when nothing is at work any more: work that does not heed ctx is waited for.
func Run(ctx context.Context, o Order, work Work) []api.StackResult {
	r := &run{Order: o, work: work, blocked: map[stack.Key]stack.Key{}}
	for wave, keys := range o.Waves {
		for _, k := range sorted(keys) {
			r.keys = append(r.keys, k)
			r.results = append(r.results, api.StackResult{Stack: k.String(), Wave: wave})
		}
	}
	r.begun = make([]bool, len(r.keys))
	r.tell(api.RolloutEvent{Event: "begin", Rollout: &api.Rollout{
		Format: api.RolloutFormat,
		Stacks: append([]api.StackResult{}, r.results...),
		Counts: api.RolloutCounts{Stacks: len(r.results)},
	}})
	first := 0
	for _, keys := range o.Waves {
		r.wave(ctx, first, first+len(keys))
		first += len(keys)
	}
	return r.results
}

func sorted(keys []stack.Key) []stack.Key {
	return slices.SortedFunc(slices.Values(keys), func(a, b stack.Key) int { return cmp.Compare(a.String(), b.String()) })
}

// A run is one call of [Run].
type run struct {
	Order
	work    Work
	keys    []stack.Key             // by wave, then by key
	begun   []bool                  // of keys: work was called
	blocked map[stack.Key]stack.Key // whom they wait for; changed between waves

	mu      sync.Mutex        // of what follows, and of Watch
	results []api.StackResult // of keys; without a status until it has ended
}

// wave works on the stacks from first until end, which is not among them.
func (r *run) wave(ctx context.Context, first, end int) {
	var working sync.WaitGroup
	free := make(chan struct{}, max(1, r.Parallel))
	for i := first; i < end; i++ {
		if via, ok := r.blocked[r.keys[i]]; ok {
			r.end(i, api.StackResult{Status: api.StackBlocked, Via: via.String()}, 0)
			continue
		}
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // both may have been ready
			r.end(i, api.StackResult{Status: api.StackSkipped}, 0)
			continue
		}
		r.begun[i] = true
		working.Go(func() {
			r.one(ctx, i)
			<-free
		})
	}
	working.Wait()
	r.block(first, end)
}

// block finds out who cannot go on after a wave. The stack named is the first that
// failed, by wave and key: who asks why wants where it began. What was never begun
// blocks nobody: those that depend on it are blocked by the same stack, or skipped
// as well.
func (r *run) block(first, end int) {
	for i := first; i < end; i++ {
		if !r.begun[i] || r.results[i].Status.Good() {
			continue
		}
		for _, dependent := range r.Blocks(r.keys[i]) {
			if _, was := r.blocked[dependent]; !was {
				r.blocked[dependent] = r.keys[i]
			}
		}
	}
}

// one works on a stack. However the work ends, there is a result, and it is a
// pass only where the work said so (docs/rollouts.md, rule 5).
func (r *run) one(ctx context.Context, i int) {
	began := r.Now()
	result := crashed()
	defer func() {
		if recover() != nil {
			result = crashed()
		}
		r.end(i, result, r.Now().Sub(began))
	}()
	result = r.work(ctx, r.keys[i], func(phase string) { r.phase(i, phase) })
}

// crashed is what became of a stack whose work panicked. With what is not said:
// it may hold a value of the plan.
func crashed() api.StackResult {
	err := problem.New(api.Internal, "assize broke down at work on this stack; what was done to it is not known").
		WithHint("this is a defect of assize; please report it with what you ran")
	return api.StackResult{Status: api.StackFailed, Exit: exitError, Error: err.Message, Hint: err.Hint}
}

// phase tells what is being done to a stack, unless it has ended.
func (r *run) phase(i int, phase string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.results[i].Status == "" {
		r.tell(api.RolloutEvent{Event: "phase", Stack: r.results[i].Stack, Phase: phase})
	}
}

// end writes down what became of a stack, and tells it.
func (r *run) end(i int, result api.StackResult, took time.Duration) {
	if !known(result.Status) {
		result = crashed()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	result.Stack, result.Wave, result.Seconds = r.results[i].Stack, r.results[i].Wave, float64(took.Milliseconds())/1000
	r.results[i] = result
	r.tell(api.RolloutEvent{Event: "stack", Stack: result.Stack, Result: &result})
}

// tell calls Watch; only one goroutine at a time may tell.
func (r *run) tell(e api.RolloutEvent) {
	if r.Watch != nil {
		e.Time = Timestamp(r.Now())
		r.Watch(e)
	}
}

// Timestamp writes a time as a [api.RolloutEvent] has it.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
