package postgres

import (
	"context"
	"sync"
)

// Turns let the updates of this process that write to one chain of the audit log come
// one after the other, in the order in which they came. Who waits has no connection. It
// is only to waste no tries: what keeps them apart is in the database, where other
// processes are too.
type turns struct {
	mu    sync.Mutex
	chain map[string]chan struct{} // a place for one
	of    map[string]string        // the chain in which a stack is, by its id
}

// stacksKnown is of how many stacks it is known at most in which chain they are.
const stacksKnown = 10_000

// inTurn does something when it is the turn of the caller in all these chains. They are
// sorted, so that no two wait for each other.
func (t *turns) inTurn(ctx context.Context, chains []string, do func() error) error {
	for _, chain := range chains {
		place := t.place(chain)
		select {
		case place <- struct{}{}:
			defer func() { <-place }() // whatever happens, also when do panics
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return do()
}

func (t *turns) place(chain string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.chain == nil {
		t.chain = map[string]chan struct{}{}
	}
	if t.chain[chain] == nil {
		t.chain[chain] = make(chan struct{}, 1)
	}
	return t.chain[chain]
}

// chainsOf are the chains to which a change of this stack will write, as far as that is
// known.
func (t *turns) chainsOf(stack string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if chain, known := t.of[stack]; known {
		return []string{chain}
	}
	return nil
}

// learn remembers to which chain a change of this stack has written.
func (t *turns) learn(stack string, chains []string) {
	if len(chains) != 1 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil || len(t.of) >= stacksKnown {
		t.of = map[string]string{}
	}
	t.of[stack] = chains[0]
}
