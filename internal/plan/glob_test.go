package plan_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/plan"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{"terraform_data.db", "terraform_data.db", true},
		{"terraform_data.db", "terraform_data.db2", false},
		{"terraform_data.db", "module.x.terraform_data.db", false},
		{"*.terraform_data.db", "module.x.terraform_data.db", true},
		{"*", "", true}, {"*", "a.b\nc", true}, {"**", "x", true}, {"", "", true}, {"", "x", false},
		{"?", "", false}, {"?", "é", true}, {"?", "ab", false}, {"??", "日本", true}, {"*?", "", false},
		{`module.web["a"].*`, `module.web["a"].x.y`, true},
		{`module.web["a"].*`, `module.weba.x.y`, false},
		{"aws_instance.x[0]", "aws_instance.x[0]", true},
		{"aws_instance.x[0]", "aws_instance.x0", false},
		{"aws_instance.x[*]", "aws_instance.x[12]", true},
		{`a["new*line"]`, `a["new\nline"]`, true},
		{"a.b", "a-b", false}, {`a\*`, `a\b`, true}, {`a\*`, "a*", false}, {"{a,b}", "{a,b}", true}, {"{a,b}", "a", false}, {"[!a]", "b", false},
		{"*a*b*c", "xxaxxbxxc", true}, {"*a*b*c", "xxbxxaxxc", false}, {"*aab", "aaaab", true},
		{"\xff", "\xfe", false}, {"�", "\xff", false}, {"\xff", "\xff", true}, {"a?b", "a\xffb", true},
	}
	for _, tt := range tests {
		if got := plan.NewGlob(tt.pattern).Match(tt.text); got != tt.want {
			t.Errorf("%q on %q: got %t", tt.pattern, tt.text, got)
		}
	}
}

// TestGlobIsSeeds compares with the translation to an expression that seed 002
// prints.
func TestGlobIsSeeds(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[ab.*?\[\]\n"é]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		pattern, text := text.Draw(t, "pattern"), text.Draw(t, "text")
		expr := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		want := regexp.MustCompile(`(?s)\A` + expr + `\z`).MatchString(text)
		if got := plan.NewGlob(pattern).Match(text); got != want {
			t.Fatalf("%q on %q: got %t", pattern, text, got)
		}
	})
}

func TestGlobIsFast(t *testing.T) {
	t.Parallel()
	start := time.Now()
	plan.NewGlob(strings.Repeat("*a", 200) + "b").Match(strings.Repeat("a", 20_000))
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %s", d)
	}
}
