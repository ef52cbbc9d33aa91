package rules_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/rules"
)

// large is a plan of n changes, made of those of a real one.
func large(b *testing.B, n int) *plan.Plan {
	b.Helper()
	p := readPlan(b, filepath.Join(root, "plans", "tofu1126-create.json"))
	some := p.Changes
	p.Changes = make([]plan.Change, 0, n)
	for i := range n {
		c := some[i%len(some)]
		c.Address = fmt.Sprintf("module.m[%d].%s", i/len(some), c.Address)
		if i%2 == 0 {
			c.Type = "aws_instance"
		}
		p.Changes = append(p.Changes, c)
	}
	return p
}

// thirty are rules as a team writes them: most are about some types, a few
// about everything.
func thirty(b *testing.B) []rules.Rule {
	b.Helper()
	var text []string
	for i := range 10 {
		text = append(text,
			fmt.Sprintf(`{"id": "type-%d", "level": "deny", "message": "m", "type": "aws_*", "path": "input.tags.owner%d", "op": "matches", "value": "^[a-z]+$", "unknown": "allow"}`, i, i),
			fmt.Sprintf(`{"id": "all-%d", "level": "deny", "message": "m", "path": "input.disk_gb", "op": "lte", "value": %d, "unknown": "allow"}`, i, 5000+i),
			fmt.Sprintf(`{"id": "address-%d", "level": "deny", "message": "m", "address": ["*.terraform_data.none%d*", "x.*"], "check": "no_delete"}`, i, i))
	}
	loaded, err := rules.Load(source("r.json", "["+strings.Join(text, ",")+"]"))
	if err != nil {
		b.Fatal(err)
	}
	return loaded
}

// BenchmarkJudge has the size of the largest plan that was measured: a
// 93 MB plan JSON. The target is 0.6 s on one core.
func BenchmarkJudge(b *testing.B) {
	p, loaded := large(b, 43_000), thirty(b)
	b.ResetTimer()
	for b.Loop() {
		if v := rules.Judge(loaded, p); len(v.Rules) != 30 || len(v.Findings) != 0 {
			b.Fatalf("%d findings", len(v.Findings))
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	src := lessonSource(b)
	for b.Loop() {
		if err := (rules.Engine{}).Check(src); err != nil {
			b.Fatal(err)
		}
	}
}
