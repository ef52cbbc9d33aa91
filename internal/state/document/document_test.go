package document_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state/document"
)

const canary = "canary-4f1e"

// shown has the canary by mark, by value in a copy without a mark, in a key, inside a
// text, in an instance key and in outputs.
const shown = `{"format_version": "1.0", "values": {
	"outputs": {
		"marked": {"sensitive": true, "value": {"deep": ["canary-4f1e"]}},
		"copied": {"sensitive": false, "value": "x-canary-4f1e"},
		"open": {"sensitive": false, "value": 12345678901234567890}},
	"root_module": {
		"resources": [
			{"address": "forge_server.web--front", "mode": "managed", "type": "forge_server", "name": "web--front",
			 "provider_name": "registry.opentofu.org/example/forge",
			 "values": {"secret": "canary-4f1e", "name": "n", "tags": {"canary-4f1e": "a", "b": "is canary-4f1e"}, "disk": [{"pw": "canary-4f1e"}]},
			 "sensitive_values": {"secret": true}, "depends_on": ["data.forge_image.base"], "tainted": true},
			{"address": "forge_server.web--front", "mode": "managed", "type": "forge_server", "name": "web--front", "deposed_key": "byebye",
			 "provider_name": "registry.opentofu.org/example/forge", "values": {"name": "old"}, "sensitive_values": {}},
			{"address": "data.forge_image.base", "mode": "data", "type": "forge_image", "name": "base",
			 "provider_name": "registry.opentofu.org/example/forge", "values": {"id": "i"}, "sensitive_values": {}}],
		"child_modules": [{"address": "module.m", "resources": [
			{"address": "module.m.random_pet.n[\"canary-4f1e\"]", "mode": "managed", "type": "random_pet", "name": "n", "index": "canary-4f1e",
			 "provider_name": "registry.opentofu.org/hashicorp/random", "values": {"length": 2}, "sensitive_values": {}}]}]}}}`

func read(t *testing.T, from document.Source) *document.State {
	t.Helper()
	s, err := document.Read([]byte(shown), from)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMasked(t *testing.T) {
	t.Parallel()
	s := read(t, document.Source{At: api.State{Lineage: "l", Serial: 4}})
	text := string(s.JSON())
	if strings.Contains(text, canary) {
		t.Errorf("the secret is in %s", text)
	}
	for _, want := range []string{
		`{"format":1,"lineage":"l","serial":4,"resources":[{"addr":"forge_server.web--front","mode":"managed","type":"forge_server"`,
		`"values":{"disk":[{"pw":{"$sensitive":true}}],"name":"n","secret":{"$sensitive":true},"tags":{"(sensitive)":"a","b":{"$sensitive":true}}}`,
		`"depends_on":["data.forge_image.base"],"tainted":true}`,
		`"module":"module.m","index":{"$sensitive":true}`,
		`"outputs":{"copied":{"$sensitive":true},"marked":{"$sensitive":true},"open":12345678901234567890}}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

// TestKnownSecrets: what is known to be secret from elsewhere is masked as well.
func TestKnownSecrets(t *testing.T) {
	t.Parallel()
	s := read(t, document.Source{Secrets: []string{"byes", "old"}})
	for _, r := range s.Document.Resources {
		if r.Deposed != "" && document.Text(r.Values) != `{"name": (sensitive)}` {
			t.Error(document.Text(r.Values))
		}
	}
}

func TestSpecification(t *testing.T) {
	t.Parallel()
	s := read(t, document.Source{Specification: true})
	first := s.Document.Resources[0]
	if first.Addr != "web.front" || len(first.DependsOn) != 1 || first.DependsOn[0] != "base" {
		t.Errorf("%+v", first)
	}
	for _, name := range []string{"web.front", "forge_server.web--front"} {
		found, err := s.Find(name)
		if err != nil || found.Address != "forge_server.web--front" || found.Object.Deposed != "" {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	_, err := s.Find("web.back")
	if problem.Code(err) != api.NotFound || problem.Hint(err) == "" {
		t.Error(err)
	}
}

// TestTwice: a path that two objects have names neither.
func TestTwice(t *testing.T) {
	t.Parallel()
	raw := `{"values": {"root_module": {"resources": [
		{"address": "a.web--x", "values": {}}, {"address": "b.web--x", "values": {}}]}}}`
	s, err := document.Read([]byte(raw), document.Source{Specification: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find("web.x"); problem.Code(err) != api.Invalid || !strings.Contains(err.Error(), "a.web--x, b.web--x") {
		t.Error(err)
	}
	if found, err := s.Find("b.web--x"); err != nil || found.Address != "b.web--x" {
		t.Error(found, err)
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	s, err := document.Read(nil, document.Source{})
	if err != nil || string(s.JSON()) != `{"format":1,"serial":0,"resources":[],"outputs":{}}` {
		t.Errorf("%s, %v", s.JSON(), err)
	}
}

// TestNoCopy: wherever a value stands that is marked once, and however it is quoted
// there, it is not in the document.
func TestNoCopy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9"\\\\<>&$ -]{3,12}Z9`).Draw(t, "secret")
		var plant func(depth int) any
		plant = func(depth int) any {
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind == 0 || depth == 0:
				return "about " + secret + "."
			case kind == 1:
				return secret
			case kind == 2:
				return map[string]any{secret: plant(depth - 1), "b": 12}
			case kind == 3:
				return []any{plant(depth - 1), true, nil}
			default:
				inner, _ := json.Marshal(map[string]any{"in": secret})
				return string(inner)
			}
		}
		held := func(values, marks any) map[string]any {
			return map[string]any{"address": "a.b", "mode": "managed", "type": "a", "name": "b", "values": values, "sensitive_values": marks}
		}
		raw, err := json.Marshal(map[string]any{"values": map[string]any{
			"outputs": map[string]any{"o": map[string]any{"value": plant(2)}},
			"root_module": map[string]any{"resources": []any{
				held(map[string]any{"v": plant(3)}, map[string]any{}),
				held(map[string]any{"pw": secret}, map[string]any{"pw": true}),
			}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := document.Read(raw, document.Source{})
		if err != nil {
			t.Fatal(err)
		}
		quoted, _ := json.Marshal(secret)
		for _, form := range []string{secret, string(quoted[1 : len(quoted)-1])} {
			if strings.Contains(string(s.JSON()), form) {
				t.Fatalf("%q is in %s", form, s.JSON())
			}
		}
	})
}

// FuzzRead: whatever a tool prints, what it marks as sensitive is not shown.
func FuzzRead(f *testing.F) {
	f.Add([]byte(shown))
	f.Add([]byte(`{"values": {"root_module": {"resources": [{"values": 1, "sensitive_values": {"a": true}}]}}}`))
	f.Add([]byte(`{"values": null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := document.Read(raw, document.Source{})
		if err != nil {
			if strings.Contains(err.Error(), canary) {
				t.Error(err)
			}
			return
		}
		if !json.Valid(s.JSON()) {
			t.Errorf("%s", s.JSON())
		}
	})
}
