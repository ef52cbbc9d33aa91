package report_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/report"
)

// assertMarkdown renders the comment and looks for anything that is neither our
// own structure nor a code span.
func assertMarkdown(t rapid.TB, c api.Check) {
	t.Helper()
	out := output(t, "markdown", c, report.Options{})
	if len(out) > 60_000 {
		t.Fatalf("%d bytes", len(out))
	}
	source := []byte(out)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	said, plain := 0, strings.Builder{}
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Document, *ast.Paragraph, *ast.TextBlock, *ast.List, *ast.ListItem:
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil // a stranger's text, shown as it is
		case *ast.Text:
			plain.Write(n.Segment.Value(source))
			plain.WriteByte('\n')
		case *ast.Heading:
			if n.Level != 3 && n.Level != 4 {
				return ast.WalkStop, fmt.Errorf("a heading of level %d", n.Level)
			}
		case *ast.Emphasis:
			if n.Level != 2 {
				return ast.WalkStop, fmt.Errorf("emphasis of level %d", n.Level)
			}
			if first, ok := n.FirstChild().(*ast.Text); ok && slices.Contains([]string{"DENY", "WARN", "EXCEPTED"}, string(first.Segment.Value(source))) {
				said++
			}
		case *ast.HTMLBlock:
			if html := string(n.Lines().Value(source)); !ourHTML.MatchString(html) {
				return ast.WalkStop, fmt.Errorf("HTML: %q", html)
			}
		case *extensionast.Table, *ast.Link, *ast.Image, *ast.AutoLink, *ast.RawHTML:
			return ast.WalkStop, fmt.Errorf("%s", n.Kind())
		default:
			return ast.WalkStop, fmt.Errorf("%s", n.Kind())
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if left := regexp.MustCompile(`Left out: .*?(\d+) finding`).FindStringSubmatch(out); left != nil {
		n, _ := strconv.Atoi(left[1])
		said += n
	}
	if said != len(c.Findings) {
		t.Fatalf("%d findings are shown or counted, want %d:\n%s", said, len(c.Findings), out)
	}
	for line := range strings.SplitSeq(plain.String(), "\n") {
		if !ourWords.MatchString(line) {
			t.Fatalf("%q is not ours, in\n%s", line, out)
		}
	}
}

var (
	ourHTML  = regexp.MustCompile(`^(<details( open)?><summary>\d+ [a-z ]+</summary>\n|</details>\n)$`)
	ourWords = regexp.MustCompile(`^[✅❌⚠️ A-Za-z0-9,.:;()-]*$`)
)

// TestTruncation pins what a comment keeps of a very long result.
func TestTruncation(t *testing.T) {
	t.Parallel()
	v := verdict(api.Failed, "big")
	for i := range 5000 {
		lvl := api.Warn
		if i%20 == 19 {
			lvl = api.Deny
		}
		v.Findings = append(v.Findings, finding(lvl, "big", fmt.Sprintf("terraform_data.x[%d]", i/2), "create", strings.Repeat("m", 60)))
	}
	long := v
	long.Findings = []api.Finding{finding(api.Deny, strings.Repeat("`r", 5000), strings.Repeat("é|", 50_000), "create", strings.Repeat("::x\n", 100_000))}
	many := make([]policy.Judged, 3000)
	for i := range many {
		many[i] = policy.Judged{Plan: planOf(fmt.Sprintf("infra/%d/plan.json", i)), Verdicts: []api.Verdict{verdict(api.Passed, "r")}}
	}
	for name, check := range map[string]api.Check{"findings": collect("plan.json", v), "long": collect("plan.json", long), "plans": policy.Collect(many)} {
		out := render(t, "markdown", check, report.Options{})
		assertMarkdown(t, check)
		denies, warns := strings.Count(out, "**DENY**"), strings.Count(out, "**WARN**")
		if name == "findings" && (denies != 250 || warns == 0 || len(out) < 50_000) {
			t.Errorf("%s: %d denies and %d warnings in %d bytes, want all 250 denies and what fits of the rest", name, denies, warns, len(out))
		}
		if left := strings.Contains(out, "**Left out: "); left != (name != "long") {
			t.Errorf("%s: left out is %v:\n%s", name, left, out)
		}
	}
}
