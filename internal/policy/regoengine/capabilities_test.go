package regoengine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/assize-iac/assize/internal/policy/regoengine"
)

// TestEvaluator is the golden digest of both manifests: a change of what
// policies may call changes every verdict's evaluator, and this line.
func TestEvaluator(t *testing.T) {
	t.Parallel()
	const want = "opa/1.22.3 capabilities sha256:e1056edced59"
	if got := regoengine.New().Evaluator(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func manifest(t *testing.T, file string) (m struct {
	Builtins       []struct{ Name string } `json:"builtins"`
	Features       []string                `json:"features"`
	FutureKeywords []string                `json:"future_keywords"`
	AllowNet       *[]string               `json:"allow_net"`
}) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestManifest keeps what nobody would notice in 100 KB of JSON: an absent
// allow_net means every host.
func TestManifest(t *testing.T) {
	t.Parallel()
	m := manifest(t, "builtins/capabilities.json")
	if m.AllowNet == nil || len(*m.AllowNet) != 0 {
		t.Error("allow_net is not the empty list")
	}
	if len(m.Builtins) != 137 || !slices.Equal(m.Features, []string{"rego_v1"}) || len(m.FutureKeywords) != 0 {
		t.Errorf("%d built-ins, features %q, keywords %q", len(m.Builtins), m.Features, m.FutureKeywords)
	}
	for _, b := range m.Builtins {
		known := ast.BuiltinMap[b.Name]
		if known == nil || known.IsDeprecated() || known.Nondeterministic {
			t.Errorf("%s is unknown to this OPA, deprecated, or not deterministic", b.Name)
		}
	}
	for _, b := range manifest(t, "builtins/capabilities-v0.json").Builtins {
		if known := ast.BuiltinMap[b.Name]; known == nil || !known.IsDeprecated() || known.Nondeterministic {
			t.Errorf("%s is no deprecated built-in of this OPA", b.Name)
		}
	}
}

// TestDeniedBuiltins calls everything that OPA has and the manifest has not:
// none compiles, in either version, and the message has name and position.
func TestDeniedBuiltins(t *testing.T) {
	t.Parallel()
	m := manifest(t, "builtins/capabilities.json")
	denied := []string{"parse_config", "parse_config_file", "parse_combined_config_files"}
	for name := range ast.BuiltinMap {
		allowed := slices.ContainsFunc(m.Builtins, func(b struct{ Name string }) bool { return b.Name == name })
		operator := name == "in" || !strings.ContainsAny(name[:1], "abcdefghijklmnopqrstuvwxyz")
		if !allowed && !operator && !strings.HasPrefix(name, "internal.") {
			denied = append(denied, name)
		}
	}
	if len(denied) < 60 {
		t.Fatalf("only %d built-ins are denied", len(denied))
	}
	for _, name := range denied {
		args := "input.a"
		if b := ast.BuiltinMap[name]; b != nil && name != "print" {
			args = strings.Join(slices.Repeat([]string{"input.a"}, b.Decl.Arity()), ", ")
		}
		v1 := fmt.Sprintf("package main\ndeny contains x if {\n\tx := \"x\"; %s(%s)\n}", name, args)
		want := fmt.Sprintf("could not judge: %s is not allowed (policy.rego:3:12)", name)
		if err := regoengine.New().Check(regoSource(v1)); err == nil || err.Error() != want {
			t.Errorf("v1: %v, want %s", err, want)
		}
		v0 := strings.Replace(v1, "contains x if", "[x]", 1)
		err := regoengine.New().Check(regoSource(v0))
		if b := ast.BuiltinMap[name]; b != nil && b.IsDeprecated() {
			if err != nil {
				t.Errorf("v0: %v, but files in v0 may call %s", err, name)
			}
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("v0: %v, want %s", err, want)
		}
	}
}

// TestNothingRestoresBuiltins tries the ways around the manifest.
func TestNothingRestoresBuiltins(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ policy, want string }{
		"as a replacement": {
			"package main\ndeny contains \"x\" if f(1) with f as http.send\nf(x) := x",
			"could not judge: http.send is not allowed (policy.rego:2:37)",
		},
		"as a target": {
			"package main\ndeny contains \"x\" if f with http.send as g\nf if input.a\ng(x) := x",
			"could not judge: http.send is not allowed (policy.rego:2:29)",
		},
		"in a rule that nothing uses": {
			"package main\ndeny contains \"x\" if false\nf := opa.runtime().env",
			"could not judge: opa.runtime is not allowed (policy.rego:3:6)",
		},
		"in a comprehension": {
			"package main\ndeny contains \"x\" if [1 | time.now_ns() > 0]",
			"could not judge: time.now_ns is not allowed (policy.rego:2:27)",
		},
		"in a package that is not judged": {
			"package main\ndeny contains \"x\" if data.b.x\n;\npackage b\nx := rand.intn(\"a\", 5)",
			"could not judge: rand.intn is not allowed (policy1.rego:2:6)",
		},
		"a template string": {
			"package main\ndeny contains $\"a {input.a}\"",
			"could not judge: template strings are not supported by current capabilities (policy.rego:2:15)",
		},
		"a keyword of the future": {
			"package main\nimport future.keywords.not\ndeny contains \"x\"",
			"could not judge: unexpected keyword, must be one of [contains every if in] (policy.rego:2:8)",
		},
		"Rego v2": {
			"package main\nimport rego.v2\ndeny contains \"x\"",
			"could not judge: ",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := regoengine.New().Check(regoSource(strings.Split(tt.policy, "\n;\n")...))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%v\nwant %s", err, tt.want)
			}
		})
	}
}

// TestOwnNames: a policy's own function may have the name of a built-in that
// is not allowed; nothing of the built-in is left.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"any", "trace", "print", "set_diff"} {
		text := fmt.Sprintf("package main\ndeny contains \"x\" if %s(1)\n%s(x) := x == 1", name, name)
		v := judge(t, regoSource(text), onePlan)
		if len(v.Findings) != 1 {
			t.Errorf("%s: %v", name, v.Findings)
		}
	}
}
