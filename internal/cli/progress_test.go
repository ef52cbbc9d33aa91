package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The line is the last thing on the terminal, says how long it has been, and is
// gone before anything else is written.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var screen bytes.Buffer
		p := &progress{w: &screen, subject: "payments", done: make(chan struct{})}
		go p.tick()
		tool := p.around(&screen)
		p.step("planning")
		time.Sleep(12*time.Second + time.Millisecond)
		if got := lastLine(screen.String()); got != "assize: planning payments, 12s" {
			t.Errorf("the line is %q", got)
		}
		tool.Write([]byte("half a line, "))
		time.Sleep(5 * time.Second)
		if got := lastLine(screen.String()); got != "half a line, " {
			t.Errorf("the line was written into the tool's: %q", got)
		}
		tool.Write([]byte("and its end\n"))
		p.step("reading the state")
		if got := lastLine(screen.String()); got != "assize: reading the state of payments, 0s" {
			t.Errorf("the line is %q", got)
		}
		p.stop()
		synctest.Wait()
		visible := strings.Join(strings.Split(erased(screen.String()), "\n"), "\n")
		if visible != "half a line, and its end\n" {
			t.Errorf("on the screen is left %q", visible)
		}
	})
}

func TestNoProgressWithoutTerminal(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	p := newProgress(&file, &file, "payments")
	p.step("planning")
	if w := p.around(&file); w != &file {
		t.Error("the tool does not get the file itself")
	}
	p.stop()
	if file.Len() != 0 {
		t.Errorf("it wrote %q", file.String())
	}
}

// lastLine is what stands in the terminal's last line.
func lastLine(screen string) string {
	screen = erased(screen)
	return screen[strings.LastIndex(screen, "\n")+1:]
}

// erased is what a terminal shows: an erased line is gone.
func erased(screen string) string {
	for {
		i := strings.Index(screen, eraseLine)
		if i < 0 {
			return screen
		}
		screen = screen[:strings.LastIndex(screen[:i], "\n")+1] + screen[i+len(eraseLine):]
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ word, want string }{
		{"", ""},
		{"../infra/prod-1.tfplan", " ../infra/prod-1.tfplan"},
		{"my plan", " 'my plan'"},
		{"$(rm -rf .)", " '$(rm -rf .)'"},
		{"it's", ` 'it'\''s'`},
		{"~", " '~'"},
	} {
		if got := quoteAll(tc.word); got != tc.want {
			t.Errorf("%q: got %s, want %s", tc.word, got, tc.want)
		}
	}
}
