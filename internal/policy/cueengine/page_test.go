package cueengine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/cueengine"
)

// TestPage holds the engine to every example of seed 003's plan-policy half,
// to the byte. <col> is a column of the plan document, which the page does not
// give; it must be that of the value in the message.
func TestPage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		plan, policy, want string
	}{
		{"create", "no-delete", "Policy policy/no-delete.cue (sha256:065bfbaff717) is satisfied.\n"},
		{"create", "owner", `Error: the plan violates the policy policy/owner.cue (sha256:88d9b5cb971a):
changes.0.after.keepers.owner: conflicting values null and =~"^team-" (mismatched types null and string):
    plan:1:<col>
    policy/owner.cue:3:2
    policy/owner.cue:4:26
changes.2.after.keepers.owner: invalid value "sales" (out of bound =~"^team-"):
    policy/owner.cue:4:26
    plan:1:<col>
`},
		{"create", "unknown", `Error: the plan violates the policy policy/unknown.cue (sha256:e50bf9f3ca54):
changes.0.after.id: conflicting values {$unknown:true} and !="forbidden" (mismatched types struct and string):
    plan:1:<col>
    policy/unknown.cue:3:2
    policy/unknown.cue:4:14
changes.1.after.id: conflicting values {$unknown:true} and !="forbidden" (mismatched types struct and string):
    plan:1:<col>
    policy/unknown.cue:3:2
    policy/unknown.cue:4:14
changes.2.after.id: conflicting values {$unknown:true} and !="forbidden" (mismatched types struct and string):
    plan:1:<col>
    policy/unknown.cue:3:2
    policy/unknown.cue:4:14
`},
		{"create", "prefix", "Policy policy/prefix.cue (sha256:c8eed3ea8432) is satisfied.\n"},
		{"delete", "no-delete", `Error: the plan violates the policy policy/no-delete.cue (sha256:065bfbaff717):
changes.2: stray: delete is not allowed:
    policy/no-delete.cue:8:3
`},
		{"destroy", "no-delete", `Error: the plan violates the policy policy/no-delete.cue (sha256:065bfbaff717):
changes.0: bare: delete is not allowed:
    policy/no-delete.cue:8:3
changes.1: owned: delete is not allowed:
    policy/no-delete.cue:8:3
changes.2: stray: delete is not allowed:
    policy/no-delete.cue:8:3
`},
		// "Typos in a policy": the plan deletes stray.
		{"delete", "typo-literal", "Policy policy/typo-literal.cue (sha256:bd452c4ddaeb) is satisfied.\n"},
		{"delete", "typo-list", "Policy policy/typo-list.cue (sha256:d131701f3806) is satisfied.\n"},
		{"delete", "typo-field", "Policy policy/typo-field.cue (sha256:dce41af58530) is satisfied.\n"},
		{"delete", "typo-bound", `Error: the plan violates the policy policy/typo-bound.cue (sha256:80689dd40709):
summary.destory: incomplete value <=0:
    policy/typo-bound.cue:1:19
`},
		{"delete", "exact", `Error: the plan violates the policy policy/exact.cue (sha256:238d99a0ac31):
summary.destroy: conflicting values 0 and 1:
    plan:1:<col>
    policy/exact.cue:1:19
`},
		// A misspelt constraint refuses every other plan as well.
		{"create", "typo-bound", `Error: the plan violates the policy policy/typo-bound.cue (sha256:80689dd40709):
summary.destory: incomplete value <=0:
    policy/typo-bound.cue:1:19
`},
		{"create", "exact", "Policy policy/exact.cue (sha256:238d99a0ac31) is satisfied.\n"},
	}
	for _, tt := range tests {
		t.Run(tt.plan+" "+tt.policy, func(t *testing.T) {
			t.Parallel()
			p := readPlan(t, tt.plan)
			v := judge(pagePolicy(t, tt.policy), p)
			if diff := cmp.Diff(tt.want, column.ReplaceAllString(pageText(v), "plan:1:<col>")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkColumns(t, v, p)
		})
	}
}

var column = regexp.MustCompile(`plan:1:\d+`)

// checkColumns compares what stands at a position of the document with the
// first or the second value that the message quotes.
func checkColumns(t *testing.T, v api.Verdict, p *plan.Plan) {
	t.Helper()
	text := string(p.DocumentJSON(plan.Labels{}))
	for _, f := range v.Findings {
		for _, pos := range f.Positions {
			col, isPlan := strings.CutPrefix(pos, "plan:1:")
			if !isPlan {
				continue
			}
			n, err := strconv.Atoi(col)
			if err != nil || n < 1 || n > len(text) {
				t.Fatalf("no column of the document: %s", pos)
			}
			value := regexp.MustCompile(`^[^,}]+`).FindString(text[n-1:])
			if quoted := strings.ReplaceAll(value, `"$unknown"`, "$unknown"); !strings.Contains(f.Message, quoted) {
				t.Errorf("%s is at %q, which %q does not quote", pos, value, f.Message)
			}
		}
	}
}

// pageText is a verdict as the page prints it.
func pageText(v api.Verdict) string {
	head := fmt.Sprintf("%s (sha256:%s)", v.Path, policy.Short(v.Digest))
	if v.Outcome == api.Passed {
		return "Policy " + head + " is satisfied.\n"
	}
	out := "Error: the plan violates the policy " + head + ":\n" + v.Error
	for _, f := range v.Findings {
		out += f.Message
		if len(f.Positions) > 0 {
			out += ":"
		}
		out += "\n"
		for _, pos := range f.Positions {
			out += "    " + pos + "\n"
		}
	}
	return out
}

func readPlan(t *testing.T, name string) *plan.Plan {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "cue", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, string(raw))
}

func decode(t *testing.T, raw string) *plan.Plan {
	t.Helper()
	p, err := plan.Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func pagePolicy(t *testing.T, name string) policy.Source {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "cue", "policy", name+".cue"))
	if err != nil {
		t.Fatal(err)
	}
	return source("policy/"+name+".cue", string(data))
}

// source is a policy of one file.
func source(path, text string) policy.Source {
	return policy.Source{Path: path, Language: api.CUE, Files: []policy.File{{Name: filepath.Base(path), Data: []byte(text)}}}
}

func judge(src policy.Source, p *plan.Plan) api.Verdict {
	return policy.Judge([]policy.Engine{cueengine.New()}, src, p)
}
