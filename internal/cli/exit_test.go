package cli

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestExitHelp: what every command's help says of exit codes and the page that
// promises them list the same numbers.
func TestExitHelp(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := func(form, text string) (out []string) {
		for _, m := range regexp.MustCompile(form).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}
	help, promised := codes(`(?m)^  (\d)  `, exitHelp), codes(`(?m)^\| (\d) \|`, string(page))
	if len(help) == 0 || !slices.Equal(help, promised) {
		t.Errorf("the help lists %q and the page %q", help, promised)
	}
}
