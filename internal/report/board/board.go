// Package board decides how a rollout looks: a table while it goes on, a line for
// each stack that ends, and the last words. Every text of a result is shown, never
// interpreted. It must not know of terminals, clocks, or what is done to a stack.
package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// Options say what the reader can show. The zero value suits a file.
type Options struct {
	page.Options
	Height   int  // lines that a table may have, at least 3; 0 for as many as it takes
	Annotate bool // the lines are read by a runner of GitHub Actions
}

// A Board is what is known of a rollout from its events. The zero value knows of
// no stack.
type Board struct {
	rows  []*row // by wave, then by key
	at    map[string]int
	waves []int // how many stacks are in each
	began time.Time
	told  int // how many waves [Board.Line] has told the begin of
}

// A row is one stack.
type row struct {
	api.StackResult        // without a status until it has ended
	phase           string // what is being done; "" before anything is
	since           time.Time
}

// Add takes in the next event.
func (b *Board) Add(e api.RolloutEvent) {
	at, _ := time.Parse(time.RFC3339Nano, e.Time) // of our own making; a wrong one shows a wrong time and no more
	switch i, ok := b.at[e.Stack]; {
	case e.Event == "begin" && e.Rollout != nil:
		b.begin(e.Rollout.Stacks, at)
	case !ok:
	case e.Event == "phase":
		if b.rows[i].phase == "" {
			b.rows[i].since = at
		}
		b.rows[i].phase = e.Phase
	case e.Event == "stack" && e.Result != nil:
		wave := b.rows[i].Wave
		b.rows[i].StackResult = *e.Result
		b.rows[i].Wave = wave
	}
}

func (b *Board) begin(stacks []api.StackResult, at time.Time) {
	*b = Board{rows: rowsOf(stacks), at: map[string]int{}, began: at}
	for i, r := range b.rows {
		b.at[r.Stack] = i
		for len(b.waves) <= r.Wave {
			b.waves = append(b.waves, 0)
		}
		b.waves[r.Wave]++
	}
}

// rowsOf sorts stacks by wave and key.
func rowsOf(stacks []api.StackResult) []*row {
	rows := make([]*row, len(stacks))
	for i, s := range stacks {
		rows[i] = &row{StackResult: s}
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Stack, b.Stack))
	})
	return rows
}

// state is what a row is counted as: its status, or that it has none yet.
func (r *row) state() api.StackStatus {
	switch {
	case r.Status != "":
		return r.Status
	case r.phase != "":
		return atWork
	}
	return waiting
}

// Stacks that have not ended.
const (
	atWork  api.StackStatus = "at work"
	waiting api.StackStatus = "waiting"
)

// A look is how a state is shown.
type look struct {
	urgency urgency
	color   page.Color
}

// An urgency is how much a person needs to see a stack.
type urgency int

const (
	well    urgency = iota // it has ended, and well
	later                  // its turn has not come
	stopped                // it was never begun
	bad                    // it has ended, and not well
	busy                   // it is at work
)

// states lists what a stack can be, in the order in which they are counted.
func states() []api.StackStatus {
	return []api.StackStatus{
		api.StackUnchanged, api.StackPlanned, api.StackConditional, api.StackApplied, api.StackDrifted,
		api.StackApplying, api.StackRefused, api.StackFailed, api.StackBlocked, api.StackSkipped, atWork, waiting,
	}
}

// lookOf shows a state that nobody knows as a failure.
func lookOf(s api.StackStatus) look {
	switch s {
	case api.StackUnchanged:
		return look{well, page.Dim}
	case api.StackPlanned, api.StackConditional, api.StackApplied:
		return look{well, page.Green}
	case api.StackDrifted:
		return look{well, page.Yellow}
	case waiting:
		return look{later, page.Dim}
	case api.StackBlocked, api.StackSkipped:
		return look{stopped, page.Yellow}
	case atWork:
		return look{busy, page.Cyan}
	}
	return look{bad, page.Red}
}

// tally counts rows by their state, in words.
func tally(rows []*row) string {
	n := map[api.StackStatus]int{}
	for _, r := range rows {
		n[r.state()]++
	}
	var parts []string
	for _, s := range states() {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
			delete(n, s)
		}
	}
	unknown := 0
	for _, count := range n {
		unknown += count
	}
	if unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d of unknown status", unknown))
	}
	return strings.Join(parts, ", ")
}

// doing is what is being done to a stack, or became of it.
func (r *row) doing() string {
	if r.state() == atWork {
		return shown(r.phase)
	}
	return shown(string(r.state()))
}

// changes is what a plan does, by the marks of `assize show`. What a mark would
// not be understood for is in words.
func (r *row) changes() string {
	s := r.Summary
	if s == nil || r.Status == api.StackUnchanged {
		return ""
	}
	text := fmt.Sprintf("+%d ~%d ", s.Create, s.Update)
	if s.Replace > 0 {
		text += fmt.Sprintf("-/+%d ", s.Replace)
	}
	text += fmt.Sprintf("-%d", s.Destroy-s.Replace) // which counts the replaced ones too
	for _, p := range []struct {
		n    int
		what string
	}{{s.Forget, "forget"}, {s.Import, "import"}, {s.Move, "move"}} {
		if p.n > 0 {
			text += fmt.Sprintf(" %s %d", p.what, p.n)
		}
	}
	return text
}

// findings is what policies said, and what was found to have changed outside.
func (r *row) findings() string {
	var parts []string
	if r.Denied > 0 {
		parts = append(parts, fmt.Sprintf("%d denied", r.Denied))
	}
	if r.Warned > 0 {
		parts = append(parts, page.Plural(r.Warned, "warning"))
	}
	if r.Drifted > 0 {
		parts = append(parts, fmt.Sprintf("%d drifted", r.Drifted))
	}
	return strings.Join(parts, ", ")
}

// because is why a stack is what it is, on one line; "" where that needs no word.
func (r *row) because() string {
	switch {
	case r.Via != "":
		return "waits for " + shown(r.Via)
	case r.Status == api.StackConditional && len(r.Upstream) > 0:
		return "after " + shown(strings.Join(r.Upstream, ", "))
	case r.Error != "":
		return disarmed(page.Paragraphs(r.Error)[0])
	}
	return ""
}

// shown is a text of somebody else on one line of ours. It is disarmed here and not
// only with the page, for that makes it longer.
func shown(text string) string { return disarmed(page.Visible(text)) }

func disarmed(text string) string { return string(page.Disarm([]byte(text))) }

// took writes how long something took; what has ended, more exactly.
func took(d time.Duration, ended bool) string {
	switch {
	case d < 0:
		return "0s"
	case ended && d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// time is how long a stack took, or has taken until now.
func (r *row) time(now time.Time) string {
	switch {
	case r.state() == atWork:
		return took(now.Sub(r.since), false)
	case r.Seconds > 0:
		return took(time.Duration(r.Seconds*float64(time.Second)), true)
	}
	return ""
}
