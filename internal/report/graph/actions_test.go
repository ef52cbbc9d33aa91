package graph_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/graph"
	"github.com/assize-iac/assize/internal/report/page"
)

func handedOn(t tb, p graph.Picture) (outputs, summary string) {
	t.Helper()
	var o, s bytes.Buffer
	if err := graph.Outputs(&o, *p.Affected, p.Graph.Stacks, "delimiter"); err != nil {
		t.Fatal(err)
	}
	if err := graph.Summary(&s, *p.Affected, nil); err != nil {
		t.Fatal(err)
	}
	return o.String(), s.String()
}

// assertOutputs reads the outputs as the runner does: exactly ours are there,
// and they say what is affected.
func assertOutputs(t tb, text string, p graph.Picture) {
	t.Helper()
	values := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for len(lines) > 0 {
		name, delimiter, ok := strings.Cut(lines[0], "<<")
		if !ok || len(lines) < 3 || lines[2] != delimiter || lines[1] == delimiter {
			t.Fatalf("outputs: %q", text)
		}
		values[name] = lines[1]
		lines = lines[3:]
	}
	var matrix api.Matrix
	var waves [][]string
	var affected []string
	var count int
	for name, into := range map[string]any{"matrix": &matrix, "waves": &waves, "affected": &affected, "count": &count} {
		if err := json.Unmarshal([]byte(values[name]), into); err != nil {
			t.Fatalf("output %s: %v", name, err)
		}
	}
	if len(values) != 4 || count != len(p.Affected.Stacks) || len(affected) != count || len(matrix.Include) != count || len(waves) != len(p.Affected.Waves) {
		t.Fatalf("outputs: %q", text)
	}
	for i, e := range matrix.Include {
		if e.Key != affected[i] || !strings.HasPrefix(e.Key, e.Path) || e.Key == "" {
			t.Errorf("entry %d of the matrix is %+v, want %q", i, e, affected[i])
		}
	}
}

// summaryLine is all that a line of the summary may be.
var summaryLine = func() *regexp.Regexp {
	const text = `<code>[^<>\n]*</code>`
	const why = `\w+ ` + text + `( and \d+ more)?`
	return regexp.MustCompile(`^(|### [^<>]+|</?(table|ul)>|<tr><th>wave</th><th>stack</th><th>why</th></tr>|\*\*\w+\*\*|` +
		`<li>` + text + `</li>|<tr><td>\d+</td><td>` + text + `</td><td>` + why + `(<br>` + why + `)*</td></tr>)$`)
}()

func assertSummary(t tb, summary string, p graph.Picture) {
	t.Helper()
	for line := range strings.Lines(summary) {
		if !summaryLine.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("summary: %q", line)
		}
	}
	shown := html.UnescapeString(summary)
	for _, s := range p.Affected.Stacks {
		if !strings.Contains(shown, page.Clip(page.Visible(s.Key), 200)) {
			t.Errorf("summary: %q is not in it", s.Key)
		}
	}
}

// TestSummaryOfNothing pins what is said when there is nothing to do.
func TestSummaryOfNothing(t *testing.T) {
	var outputs, summary bytes.Buffer
	a := api.Affected{Stacks: []api.AffectedStack{}, Waves: [][]string{}}
	if err := graph.Outputs(&outputs, a, nil, "x"); err != nil {
		t.Fatal(err)
	}
	if err := graph.Summary(&summary, a, nil); err != nil {
		t.Fatal(err)
	}
	want := "matrix<<x\n{\"include\":[]}\nx\nwaves<<x\n[]\nx\naffected<<x\n[]\nx\ncount<<x\n0\nx\n### No stack is affected\n"
	if diff := cmp.Diff(want, outputs.String()+summary.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSummaryBound checks that a summary of anything is one that GitHub shows,
// and that what is left out is counted.
func TestSummaryBound(t *testing.T) {
	a := api.Affected{Waves: [][]string{nil}}
	for i := range 9_000 {
		key := fmt.Sprintf("%s%d", strings.Repeat("<", 190), i)
		a.Stacks = append(a.Stacks, api.AffectedStack{Key: key, Via: []api.Via{{Reason: api.ReasonChanged, From: key}}})
		a.Waves[0] = append(a.Waves[0], key)
		a.Warnings = append(a.Warnings, key)
	}
	var b bytes.Buffer
	if err := graph.Summary(&b, a, a.Warnings); err != nil {
		t.Fatal(err)
	}
	if n := b.Len(); n > 1<<20 {
		t.Errorf("%d bytes", n)
	}
	shown := strings.Count(b.String(), "<tr>") - 1
	if left := fmt.Sprintf("no room for %d more stacks", 9_000-shown); shown == 0 || !strings.Contains(b.String(), left) {
		t.Errorf("%d are shown; want %q", shown, left)
	}
}

// Seed 004, "Identities and names": keys such as a/b and a-b never share a name.
func TestSlug(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, key := range []string{"a/b", "a-b", "a:b", "a-b-c", "a/b:c", "a:b-c", "."} {
		outputs := &bytes.Buffer{}
		a := api.Affected{Stacks: []api.AffectedStack{{Key: key}}, Waves: [][]string{{key}}}
		if err := graph.Outputs(outputs, a, []api.Stack{{Key: key}}, "end"); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(outputs.String(), `"slug":"`)
		slug, _, ok := strings.Cut(rest, `"`)
		if !ok || strings.ContainsAny(slug, "/:\\") || seen[slug] != "" {
			t.Errorf("%s is called %q, as %q", key, slug, seen[slug])
		}
		seen[slug] = key
	}
}
