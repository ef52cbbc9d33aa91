package report_test

import (
	"regexp"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report"
)

func assertGitHub(t rapid.TB, c api.Check) {
	t.Helper()
	out := output(t, "github", c, report.Options{})
	got := commands(out)
	if lines := strings.Count(out, "\n"); lines != len(got) || strings.Contains(out, "\r") {
		t.Fatalf("%d lines and %d commands:\n%s", lines, len(got), out)
	}
	n, order := 0, map[string]int{"error": 0, "warning": 1, "notice": 2}
	for _, cmd := range got {
		if _, ok := order[cmd.name]; !ok {
			t.Fatalf("command %q:\n%s", cmd.name, out)
		}
		if extra := len(cmd.properties); extra > 1 || extra == 1 && cmd.properties["title"] == "" {
			t.Fatalf("properties %q:\n%s", cmd.properties, out)
		}
		if title := cmd.properties["title"]; title != "could not judge" && (title != "assize" || !strings.HasPrefix(cmd.data, "could not judge")) {
			n++
		}
	}
	if closes := slices.ContainsFunc(got, func(cmd workflowCommand) bool { return cmd.name == "error" }); c.Outcome != api.Passed && !closes {
		t.Fatalf("outcome %q has no error:\n%s", c.Outcome, out)
	}
	if n != len(c.Findings) && n != len(c.Findings)+1 { // and one where warnings alone fail the check
		t.Fatalf("%d annotations, want %d:\n%s", n, len(c.Findings), out)
	}
}

// A workflowCommand is what GitHub's runner reads from a line of a log.
type workflowCommand struct {
	name       string
	properties map[string]string
	data       string
}

var (
	lineBreak = regexp.MustCompile(`\r\n|\r|\n`)
	bracket   = regexp.MustCompile(`##\w*\[([^\]]*)`)
)

// commands reads a log as the runner does: lines end at \n, \r or both; a line
// is a command when it begins with "::name ...::" after white space, or has
// "##[name ...]" anywhere. Azure's "##vso[" is one as well.
func commands(log string) []workflowCommand {
	var out []workflowCommand
	for _, line := range lineBreak.Split(log, -1) {
		line = strings.TrimSpace(line)
		head, data, found := strings.Cut(strings.TrimPrefix(line, "::"), "::")
		if strings.HasPrefix(line, "::") && found {
			name, rest, _ := strings.Cut(head, " ")
			cmd := workflowCommand{name: name, properties: map[string]string{}, data: unescape(data)}
			for pair := range strings.SplitSeq(strings.TrimSpace(rest), ",") {
				if key, value, ok := strings.Cut(pair, "="); ok && value != "" {
					cmd.properties[key] = strings.NewReplacer("%3A", ":", "%2C", ",").Replace(unescape(value))
				}
			}
			out = append(out, cmd)
			continue
		}
		if m := bracket.FindStringSubmatch(line); m != nil {
			out = append(out, workflowCommand{name: m[1], data: line})
		}
	}
	return out
}

func unescape(s string) string {
	return strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%").Replace(s)
}
