package cli

import (
	"fmt"
	"io"
	"strings"

	drawing "github.com/assize-iac/assize/internal/report/board"
)

const (
	eraseToEnd = "\x1b[J"   // of the screen
	eraseRest  = "\x1b[K"   // of the line
	cutLines   = "\x1b[?7l" // instead of going on in the next one
	wrapLines  = "\x1b[?7h" // as terminals do
	moveUp     = "\x1b[%dA" // to an earlier line
)

// A screen has lines at the end of a terminal's output that are drawn again and
// again in the same place. It never hides the cursor and leaves no mode set
// between two writes, so that a process may end at any time.
type screen struct {
	w     io.Writer
	size  func() (width, height int)
	drawn []string // the lines that stand there
	width int      // of the terminal when they were drawn
}

// room is what lines may be drawn in: the last line is the cursor's.
func (s *screen) room() (width, height int) {
	width, height = s.size()
	return width, height - 1
}

// draw puts text, whole lines or nothing, in place of what was drawn before. It
// writes at once, and over the old text, so that nothing flickers.
func (s *screen) draw(text string) error {
	var lines []string
	if text != "" {
		lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	width, _ := s.size()
	if width == s.width && strings.Join(lines, "\n") == strings.Join(s.drawn, "\n") {
		return nil
	}
	back := s.back()
	s.drawn, s.width = lines, width
	_, err := io.WriteString(s.w, back+s.lines())
	return err
}

// print writes whole lines above what is drawn.
func (s *screen) print(text []byte) error {
	_, err := io.WriteString(s.w, s.back()+eraseToEnd+string(text)+s.lines())
	s.width, _ = s.size()
	return err
}

// back moves to where the drawing begins. If the terminal has become narrower, it
// has broken the lines that were too long, as nearly all do.
func (s *screen) back() string {
	width, height := s.size()
	rows := 0
	for _, line := range s.drawn {
		rows += max(1, (drawing.Width(line)+width-1)/width)
	}
	if rows = min(rows, height-1); rows == 0 {
		return "\r"
	}
	return "\r" + fmt.Sprintf(moveUp, rows)
}

// lines is what is drawn, as it is written.
func (s *screen) lines() string {
	var b strings.Builder
	for _, line := range s.drawn {
		b.WriteString(line + eraseRest + "\n")
	}
	return cutLines + b.String() + eraseToEnd + wrapLines
}
