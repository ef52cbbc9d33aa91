package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
)

func boardClock() time.Time { return time.Date(2026, 11, 30, 10, 0, 12, 0, time.UTC) }

// boardEvents is a rollout of two waves, of which the first fails in part.
func boardEvents() (begin, rest []api.RolloutEvent, end api.Rollout) {
	const at = "2026-11-30T10:00:00.000Z"
	stacks := []api.StackResult{
		{Stack: "network:dev", Status: api.StackPlanned, Summary: &api.Summary{Create: 3}, Warned: 1, Seconds: 1.2},
		{Stack: "network:prod", Status: api.StackFailed, Exit: 1, Error: "tofu init failed", Hint: "try again", Seconds: 2},
		{Stack: "dns:prod", Wave: 1, Status: api.StackBlocked, Via: "network:prod"},
	}
	var begun []api.StackResult
	for _, s := range stacks {
		begun = append(begun, api.StackResult{Stack: s.Stack, Wave: s.Wave})
		rest = append(rest, api.RolloutEvent{Time: at, Event: "stack", Stack: s.Stack, Result: &s})
	}
	begin = []api.RolloutEvent{
		{Time: at, Event: "begin", Rollout: &api.Rollout{Stacks: begun}},
		{Time: at, Event: "phase", Stack: "network:dev", Phase: "planning"},
	}
	return begin, rest, api.Rollout{Format: api.RolloutFormat, Kind: api.RolloutPlan, Stacks: stacks}
}

const boardClosing = `network:prod  failed  2.0s
  error: tofu init failed
  hint: try again
dns:prod  blocked  waits for network:prod
3 stacks: 1 planned, 1 failed, 1 blocked
`

func TestBoardLines(t *testing.T) {
	for name, tt := range map[string]struct{ github, want string }{
		"a pipe": {"", "  error: tofu init failed\n  hint: try again\n"},
		"GitHub": {"true", "::error title=network%3Aprod::tofu init failed%0Ahint: try again\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GITHUB_ACTIONS", tt.github)
			var out, err bytes.Buffer
			b := (&Globals{Out: &out, Err: &err, Now: boardClock}).newBoard(false)
			begin, rest, end := boardEvents()
			one, other := b.writer(), b.writer()
			one.Write([]byte("one be"))
			for _, e := range append(begin, rest...) {
				b.watch(e)
			}
			other.Write([]byte("another\nhalf"))
			one.Write([]byte("gins\n"))
			if failed := b.close(end); failed != nil {
				t.Fatal(failed)
			}
			want := "wave 1 of 2: 2 stacks\nnetwork:dev  planned  +3 ~0 -0  1.2s  1 warning\nnetwork:prod  failed  2.0s\n" + tt.want +
				"wave 2 of 2: 1 stack\ndns:prod  blocked  waits for network:prod\nanother\none begins\nhalf\n" + boardClosing
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err.Len() > 0 {
				t.Errorf("beside it is %q", &err)
			}
		})
	}
}

func TestBoardJSON(t *testing.T) {
	t.Parallel()
	var out, beside bytes.Buffer
	b := (&Globals{Out: &out, Err: &beside, Now: boardClock}).newBoard(true)
	begin, rest, end := boardEvents()
	for _, e := range append(begin, rest...) {
		b.watch(e)
	}
	b.writer().Write([]byte("text\n"))
	if err := b.close(end); err != nil {
		t.Fatal(err)
	}
	want := append(append(begin, rest...), api.RolloutEvent{Time: "2026-11-30T10:00:12.000Z", Event: "rollout", Rollout: &end})
	var got []api.RolloutEvent
	for line := range strings.Lines(out.String()) {
		var e api.RolloutEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if beside.String() != "text\n" {
		t.Errorf("beside it is %q", &beside)
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestBoardCannotWrite(t *testing.T) {
	t.Parallel()
	for _, json := range []bool{true, false} {
		b := (&Globals{Out: closedPipe{}, Err: closedPipe{}, Now: boardClock}).newBoard(json)
		begin, _, end := boardEvents()
		b.watch(begin[0])
		if err := b.close(end); !errors.Is(err, os.ErrClosed) {
			t.Errorf("json %v: it says %v", json, err)
		}
	}
}

// TestBoardOnTerminal draws on a real terminal device, and looks at what a terminal
// makes of the bytes.
func TestBoardOnTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	term, tty := openTerminal(t, 80, 12)
	b := (&Globals{Out: tty, Err: tty, Now: boardClock}).newBoard(false)
	begin, rest, end := boardEvents()
	for _, e := range begin {
		b.watch(e)
	}
	const table = "wave  stack         status    time  changes  findings\n" +
		"   1  network:dev   planning   12s\n" +
		"   1  network:prod  waiting\n" +
		"   2  dns:prod      waiting\n" +
		"0 of 3 stacks done, wave 1 of 2, 12s\n"
	term.shows(t, table)

	w := b.writer()
	long := strings.Repeat("long", 21) + "line"
	w.Write([]byte("above\n" + long + "\nhal"))
	term.shows(t, "above\n"+long[:80]+"\n"+long[80:]+"\n"+table)

	term.resize(t, 30, 12)
	term.shows(t, "above\n"+long[:30]+"\n"+long[30:60]+"\n"+long[60:80]+"\n"+long[80:]+"\n"+
		"wave  stack         status\n   1  network:dev   planning\n   1  network:prod  waiting\n   2  dns:prod      waiting\n0 of 3 stacks done, wave 1 of…\n")

	term.resize(t, 60, 4)
	term.ends(t, "wave  stack  status  time  changes  findings\n3 more: 1 at work, 2 waiting\n0 of 3 stacks done, wave 1 of 2, 12s\n")

	term.resize(t, 60, 3)
	term.gone(t, "3 more")

	for _, e := range rest {
		b.watch(e)
	}
	if err := b.close(end); err != nil {
		t.Fatal(err)
	}
	term.ends(t, "hal\n"+
		"wave  stack         status   time  changes   findings\n"+
		"   1  network:dev   planned  1.2s  +3 ~0 -0  1 warning\n"+
		"   1  network:prod  failed   2.0s            tofu init fail…\n"+
		"   2  dns:prod      blocked                  waits for netw…\n"+
		"3 of 3 stacks done, wave 2 of 2, 12s\n"+boardClosing)
	if term.raw.Len() == 0 || bytes.Contains(term.raw.Bytes(), []byte("\x1b[?25")) || bytes.Count(term.raw.Bytes(), []byte("\x1b[?7l")) != bytes.Count(term.raw.Bytes(), []byte("\x1b[?7h")) {
		t.Errorf("it leaves a mode set: %q", &term.raw)
	}
}

func TestNoTableOnDumbTerminal(t *testing.T) {
	t.Setenv("TERM", "dumb")
	term, tty := openTerminal(t, 80, 12)
	b := (&Globals{Out: tty, Err: tty, Now: boardClock}).newBoard(false)
	_, _, end := boardEvents()
	if err := b.close(end); err != nil {
		t.Fatal(err)
	}
	term.shows(t, boardClosing)
	if bytes.Contains(term.raw.Bytes(), []byte("\x1b")) {
		t.Errorf("it writes %q", &term.raw)
	}
}

// A fakeTerminal reads what is written to a terminal device as a terminal would,
// and keeps all lines there ever were.
type fakeTerminal struct {
	device        *os.File
	output        chan []byte
	raw, pending  bytes.Buffer
	width, height int
	lines         [][]rune
	row, column   int
	cut           bool
}

func openTerminal(t *testing.T, width, height int) (*fakeTerminal, *os.File) {
	t.Helper()
	device, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close(); device.Close() })
	f := &fakeTerminal{device: device, output: make(chan []byte, 1000), lines: [][]rune{nil}}
	f.resize(t, width, height)
	go func() {
		for {
			data := make([]byte, 4096)
			n, err := device.Read(data)
			if err != nil {
				return
			}
			f.output <- data[:n]
		}
	}()
	return f, tty
}

// resize breaks lines anew that have become too long, as terminals do.
func (f *fakeTerminal) resize(t *testing.T, width, height int) {
	t.Helper()
	f.width, f.height = width, height
	var lines [][]rune
	for _, line := range f.lines {
		for len(line) > width {
			lines, line = append(lines, line[:width:width]), line[width:]
		}
		lines = append(lines, line)
	}
	f.lines, f.row = lines, len(lines)-1
	if err := pty.Setsize(f.device, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		t.Fatal(err)
	}
}

func (f *fakeTerminal) shows(t *testing.T, want string) {
	t.Helper()
	f.until(t, want, func(got string) bool { return got == want })
}

func (f *fakeTerminal) ends(t *testing.T, want string) {
	t.Helper()
	f.until(t, want, func(got string) bool { return strings.HasSuffix(got, want) })
}

func (f *fakeTerminal) gone(t *testing.T, text string) {
	t.Helper()
	f.until(t, "no "+text, func(got string) bool { return !strings.Contains(got, text) })
}

func (f *fakeTerminal) until(t *testing.T, want string, done func(string) bool) {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		var got strings.Builder
		for _, line := range f.lines[:len(f.lines)-1] { // the last is the cursor's
			got.WriteString(strings.TrimRight(string(line), " ") + "\n")
		}
		if f.pending.Len() == 0 && done(got.String()) {
			return
		}
		select {
		case data := <-f.output:
			f.raw.Write(data)
			f.pending.Write(data)
			f.read()
		case <-late:
			t.Fatalf("the terminal shows another thing (-want +got):\n%s", cmp.Diff(want, got.String()))
		}
	}
}

var sequence = regexp.MustCompile(`^\x1b\[(\??)(\d*)(?:;\d+)*([A-Za-z])`)

func (f *fakeTerminal) read() {
	for f.pending.Len() > 0 {
		data := f.pending.Bytes()
		switch m := sequence.FindSubmatch(data); {
		case m != nil:
			n, _ := strconv.Atoi(string(m[2]))
			f.control(string(m[1])+string(m[3]), n)
			f.pending.Next(len(m[0]))
		case data[0] == '\x1b', !utf8.FullRune(data): // the rest is to come
			return
		default:
			r, _, _ := f.pending.ReadRune()
			f.write(r)
		}
	}
}

func (f *fakeTerminal) control(kind string, n int) {
	switch kind {
	case "A":
		f.row = max(f.row-n, len(f.lines)-f.height, 0)
	case "K":
		f.lines[f.row] = f.lines[f.row][:min(f.column, len(f.lines[f.row]))]
	case "J":
		f.control("K", 0)
		f.lines = f.lines[:f.row+1]
	case "?l":
		f.cut = true
	case "?h":
		f.cut = false
	}
}

func (f *fakeTerminal) write(r rune) {
	switch {
	case r == '\r':
		f.column = 0
		return
	case r == '\n':
		f.down()
		return
	case f.column == f.width && f.cut:
		f.column--
	case f.column == f.width:
		f.down()
		f.column = 0
	}
	for len(f.lines[f.row]) <= f.column {
		f.lines[f.row] = append(f.lines[f.row], ' ')
	}
	f.lines[f.row][f.column] = r
	f.column++
}

func (f *fakeTerminal) down() {
	if f.row++; f.row == len(f.lines) {
		f.lines = append(f.lines, nil)
	}
}
