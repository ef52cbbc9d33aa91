package page

import (
	"fmt"
	"strings"

	"github.com/assize-iac/assize/api"
)

// Symbol is the tools' own mark for what a plan does to an object, by its label.
func Symbol(label string) string {
	switch label {
	case "create":
		return "+"
	case "update":
		return "~"
	case "replace":
		return "-/+"
	case "replace (create before destroy)":
		return "+/-"
	case "delete":
		return "-"
	case "read":
		return "<="
	case "forget":
		return "."
	case "create,forget":
		return "+/."
	case "forget,create":
		return "./+"
	}
	return ""
}

// Tally says what a plan does and leaves out what it does not do. The destroy
// half of a replacement is not counted a second time.
func Tally(s api.Summary) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{s.Create, "create"}, {s.Update, "update"}, {s.Replace, "replace"}, {s.Destroy - s.Replace, "destroy"},
		{s.Forget, "forget"}, {s.Import, "import"}, {s.Move, "move"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "no changes"
	}
	return strings.Join(parts, ", ")
}

// Plural is a number with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
