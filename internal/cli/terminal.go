package cli

import (
	"os"
	"strings"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// width is the terminal's, or 0 where there is none.
func width(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// size is the terminal's, or a usual one where it does not say, as some in
// containers do not.
func size(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width == 0 || height == 0 {
		return 80, 24
	}
	return width, height
}

// readHidden reads a line from a terminal that does not show it.
func readHidden(f *os.File) (string, error) {
	line, err := term.ReadPassword(int(f.Fd()))
	return strings.TrimSpace(string(line)), err
}
