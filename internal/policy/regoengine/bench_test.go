package regoengine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine"
)

// BenchmarkJudge judges a plan of 10 MB, made of a real one many times over,
// by the lesson's policy, which names the keys it reads, and by one that walks
// over everything.
func BenchmarkJudge(b *testing.B) {
	p := bigPlan(b, 10<<20)
	for name, dir := range map[string]string{
		"lesson": filepath.Join(root, "lesson", "policy"),
		"walk":   filepath.Join(root, "rego", "walk"),
	} {
		src, _ := readPolicy(b, dir)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(p.Raw)))
			b.ReportAllocs()
			for b.Loop() {
				v, err := regoengine.New().Judge(src, p)
				if err != nil || len(v.Findings) == 0 {
					b.Fatalf("%d findings: %v", len(v.Findings), err)
				}
			}
		})
	}
}

// BenchmarkCompile is what every verdict pays, however small the plan.
func BenchmarkCompile(b *testing.B) {
	src, _ := readPolicy(b, filepath.Join(root, "lesson", "policy"))
	for b.Loop() {
		if err := policy.Check([]policy.Engine{regoengine.New()}, src); err != nil {
			b.Fatal(err)
		}
	}
}

// bigPlan repeats the resources of a real plan, in the parts of a plan that
// hold them, until it has the size.
func bigPlan(b *testing.B, size int) *plan.Plan {
	b.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "plans", "tofu1126-replace.json"))
	if err != nil {
		b.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(raw, &doc); err != nil {
		b.Fatal(err)
	}
	var changes []map[string]any
	if err := json.Unmarshal(doc["resource_changes"], &changes); err != nil {
		b.Fatal(err)
	}
	copies := size / len(raw)
	var many []map[string]any
	for i := range copies {
		for _, c := range changes {
			one := map[string]any{}
			for k, v := range c {
				one[k] = v
			}
			one["address"] = fmt.Sprintf("module.copy[%d].%s", i, c["address"])
			delete(one, "previous_address")
			many = append(many, one)
		}
	}
	out := map[string]any{"resource_changes": many}
	for key, value := range doc {
		switch key {
		case "resource_changes":
		case "planned_values", "prior_state":
			list := make([]json.RawMessage, copies)
			for i := range list {
				list[i] = value
			}
			out[key] = map[string]any{"copies": list}
		default:
			out[key] = value
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		b.Fatal(err)
	}
	p, err := plan.Decode(text)
	if err != nil {
		b.Fatal(err)
	}
	return p
}
