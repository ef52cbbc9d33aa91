package board_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/board"
	"github.com/assize-iac/assize/internal/report/page"
)

var update = flag.Bool("update", false, "write the golden files")

// now is when the table is drawn.
var now = time.Date(2026, 11, 30, 10, 2, 5, 0, time.UTC)

func at(second int) string {
	return now.Add(time.Duration(second-125) * time.Second).Format(time.RFC3339)
}

// estate is a rollout in which everything happens, and the events up to now.
func estate() (api.Rollout, []api.RolloutEvent) {
	ended := []api.StackResult{
		{Stack: "infra/network:dev", Status: api.StackPlanned, Summary: &api.Summary{Create: 3}, Warned: 1, Seconds: 1.24, Warnings: []string{"the lock file was made\nby another version"}},
		{Stack: "infra/network:prod", Status: api.StackUnchanged, Summary: &api.Summary{Read: 2}, Seconds: 61.5},
		{Stack: "infra/secrets", Status: api.StackFailed, Exit: 1, Error: "tofu init failed:\n::error::no ##[credentials]\x1b[2J", Hint: "run `tofu init` in infra/secrets to see more", Seconds: 2},
		{Stack: "infra/旅行/日本:production", Status: api.StackRefused, Exit: 5, Denied: 2, Warned: 3, Summary: &api.Summary{Create: 2, Update: 1, Replace: 1, Destroy: 5, Forget: 1, Import: 2, Move: 3},
			Error: "the plan violates the policy policy/limits.cue", Seconds: 3700},
		{Stack: "apps/shop\u202e:dev", Wave: 1, Status: api.StackConditional, Summary: &api.Summary{Update: 1}, Upstream: []string{"infra/network:dev"}, Seconds: 4.96},
		{Stack: "apps/shop:prod", Wave: 1, Status: api.StackBlocked, Via: "infra/secrets"},
	}
	r := api.Rollout{Format: api.RolloutFormat, Kind: api.RolloutPlan}
	var begun []api.StackResult
	for _, s := range ended {
		begun = append(begun, api.StackResult{Stack: s.Stack, Wave: s.Wave})
	}
	late := []api.StackResult{{Stack: "apps/mail", Wave: 1}, {Stack: "apps/web", Wave: 2}, {Stack: "apps/web:two", Wave: 2}}
	begun = append(begun, late...)
	events := []api.RolloutEvent{{Time: at(0), Event: "begin", Rollout: &api.Rollout{Stacks: begun}}}
	for _, s := range ended {
		events = append(events, api.RolloutEvent{Time: at(1), Event: "phase", Stack: s.Stack, Phase: "planning"})
		events = append(events, api.RolloutEvent{Time: at(9), Event: "stack", Stack: s.Stack, Result: &s})
	}
	events = append(events, api.RolloutEvent{Time: at(100), Event: "phase", Stack: "apps/mail", Phase: "planning"},
		api.RolloutEvent{Time: at(120), Event: "phase", Stack: "apps/mail", Phase: "reading the state of everything"})
	late[0].Status, late[1].Status, late[2].Status = api.StackApplying, api.StackSkipped, "fine"
	r.Stacks = append(ended, late...)
	return r, events
}

func TestTable(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]board.Options{
		"wide":   {},
		"color":  {Options: page.Options{Color: true, Width: 120}},
		"narrow": {Options: page.Options{Width: 50}},
		"low":    {Options: page.Options{Width: 100}, Height: 8},
		"lowest": {Options: page.Options{Width: 100}, Height: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, events := estate()
			var b board.Board
			for _, e := range events {
				b.Add(e)
			}
			var out bytes.Buffer
			if err := b.Table(&out, now, o); err != nil {
				t.Fatal(err)
			}
			golden(t, "table-"+name, out.Bytes())
		})
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]board.Options{"plain": {}, "github": {Annotate: true}, "color": {Options: page.Options{Color: true}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, events := estate()
			for _, s := range r.Stacks[6:] {
				events = append(events, api.RolloutEvent{Time: at(130), Event: "stack", Stack: s.Stack, Result: &s})
			}
			var b board.Board
			var out bytes.Buffer
			for _, e := range events {
				if err := b.Line(&out, e, o); err != nil {
					t.Fatal(err)
				}
			}
			golden(t, "lines-"+name, out.Bytes())
		})
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	r, _ := estate()
	r.Created, r.Base, r.Commit = at(0), "origin/main\u202e", "0123456789abcdef"
	for i := range r.Stacks {
		r.Stacks[i].At = at(i)
	}
	for name, o := range map[string]board.Options{
		"wide":   {},
		"narrow": {Options: page.Options{Color: true, Width: 70}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := board.Record(&out, r, o); err != nil {
				t.Fatal(err)
			}
			golden(t, "record-"+name, out.Bytes())
		})
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	r, _ := estate()
	var out bytes.Buffer
	if err := board.Summary(&out, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary", out.Bytes())
}

func TestClosing(t *testing.T) {
	t.Parallel()
	r, _ := estate()
	well := api.Rollout{Stacks: r.Stacks[:2]}
	for name, tt := range map[string]struct {
		rollout api.Rollout
		o       board.Options
	}{
		"all":   {r, board.Options{Options: page.Options{Width: 60}}},
		"color": {r, board.Options{Options: page.Options{Color: true}}},
		"well":  {well, board.Options{}},
		"none":  {api.Rollout{}, board.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := board.Closing(&out, tt.rollout, tt.o); err != nil {
				t.Fatal(err)
			}
			golden(t, "closing-"+name, out.Bytes())
		})
	}
}

// TestFits checks on random rollouts that a table stays within the terminal, that
// nobody's text acts, and that what is urgent is not left out for what is not.
func TestFits(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.StringN(1, 30, -1), rapid.SampledFrom([]string{"::error::x", "##[group]", "##vso[a]", "a\nb", "\x1b[2J", "日本語", "e\u0301", "⚠️", "🇯🇵", "\u202e"}))
	statuses := []api.StackStatus{"", "", api.StackUnchanged, api.StackPlanned, api.StackFailed, api.StackBlocked, api.StackSkipped, "fine"}
	rapid.Check(t, func(t *rapid.T) {
		var b board.Board
		keys := rapid.SliceOfNDistinct(text, 0, 20, rapid.ID[string]).Draw(t, "keys")
		var begun []api.StackResult
		for _, k := range keys {
			begun = append(begun, api.StackResult{Stack: k, Wave: rapid.IntRange(0, 3).Draw(t, "wave")})
		}
		lines := bytes.Buffer{}
		tell := func(e api.RolloutEvent) {
			if err := b.Line(&lines, e, board.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		tell(api.RolloutEvent{Time: at(0), Event: "begin", Rollout: &api.Rollout{Stacks: begun}})
		urgent := 0
		for _, s := range begun {
			if s.Status = rapid.SampledFrom(statuses).Draw(t, "status"); s.Status == "" {
				if rapid.Bool().Draw(t, "begun") {
					tell(api.RolloutEvent{Time: at(1), Event: "phase", Stack: s.Stack, Phase: "planning"})
					urgent++
				}
				continue
			}
			if s.Status == api.StackFailed || s.Status == "fine" {
				urgent++
			}
			s.Error, s.Hint, s.Via = text.Draw(t, "error"), text.Draw(t, "hint"), rapid.SampledFrom([]string{"", "::x"}).Draw(t, "via")
			tell(api.RolloutEvent{Time: at(1), Event: "stack", Stack: s.Stack, Result: &s})
		}
		o := board.Options{Options: page.Options{Width: rapid.IntRange(1, 120).Draw(t, "width")}, Height: rapid.IntRange(3, 30).Draw(t, "height")}
		var out bytes.Buffer
		if err := b.Table(&out, now, o); err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(rows) > o.Height {
			t.Fatalf("%d lines at a height of %d:\n%s", len(rows), o.Height, &out)
		}
		for _, row := range rows {
			if w := uniseg.StringWidth(row); w > o.Width {
				t.Fatalf("%d columns at a width of %d: %q", w, o.Width, row)
			}
		}
		if folded := rows[len(rows)-2]; o.Width > 100 && urgent <= o.Height-3 && strings.Contains(folded, " more: ") &&
			(strings.Contains(folded, "failed") || strings.Contains(folded, "work") || strings.Contains(folded, "unknown")) {
			t.Fatalf("what is urgent is left out:\n%s", &out)
		}
		for line := range strings.SplitSeq(out.String()+lines.String(), "\n") {
			if line != page.Visible(line) || line != string(page.Disarm([]byte(line))) {
				t.Fatalf("it acts: %q", line)
			}
		}
	})
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// BenchmarkTable draws many stacks, as happens ten times a second.
func BenchmarkTable(b *testing.B) {
	for _, n := range []int{100, 5_000, 50_000} {
		var known board.Board
		var stacks []api.StackResult
		for i := range n {
			stacks = append(stacks, api.StackResult{Stack: fmt.Sprintf("teams/t%d/s%d", i%97, i), Wave: i / 100})
		}
		known.Add(api.RolloutEvent{Event: "begin", Rollout: &api.Rollout{Stacks: stacks}})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if err := known.Table(io.Discard, now, board.Options{Options: page.Options{Width: 120}, Height: 50}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
