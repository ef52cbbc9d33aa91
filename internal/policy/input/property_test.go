package input_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/policy/input"
)

// A drawer draws values of plans. The secrets stand in leaves and keys of them,
// marked or not.
type drawer struct {
	secrets []string
	doubles bool // no number that a double does not hold
}

func (d drawer) text(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom(append([]string{"x", "é", "\n", "😀", `"`, `{"k":"`, `"}`}, d.secrets...)), rapid.StringN(0, 4, -1)), 0, 3).Draw(t, "text"), "")
}

func (d drawer) value(t *rapid.T, depth int) any {
	kinds := 5
	if depth > 0 {
		kinds = 8
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "boolean")
	case 2:
		numbers := []json.Number{"0", "1", "-7", "0.1", "100000000000000000000", "9007199254740992"}
		if !d.doubles {
			numbers = append(numbers, "9007199254740993", "1e400", "0.1000000000000000055511151231257827")
		}
		return rapid.SampledFrom(numbers).Draw(t, "number")
	case 3, 4:
		return d.text(t)
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, d.value(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		object[d.text(t)] = d.value(t, depth-1)
	}
	return object
}

// resource draws the value of a whole resource, whose own keys are a schema's.
func (d drawer) resource(t *rapid.T) any {
	if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
		return nil
	}
	object := map[string]any{}
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"id", "tags", "input", "size"}), 0, 4, rapid.ID).Draw(t, "attributes") {
		object[k] = d.value(t, 3)
	}
	return object
}

// marks draws a map for v, which fits it or does not.
func (d drawer) marks(t *rapid.T, v any) any {
	switch rapid.IntRange(0, 9).Draw(t, "mark") {
	case 0:
		return true
	case 1:
		return false
	case 2:
		return nil
	case 3:
		return rapid.SampledFrom([]any{[]any{true}, []any{false, true}, map[string]any{"id": true}, map[string]any{"later": map[string]any{d.text(t): true}}, map[string]any{}}).Draw(t, "other")
	}
	switch v := v.(type) {
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, d.marks(t, e))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if rapid.Bool().Draw(t, "has") {
				out[k] = d.marks(t, e)
			}
		}
		return out
	}
	return false
}

// plan draws a plan in which every secret is marked somewhere.
func (d drawer) plan(t *rapid.T) []any {
	changes := []any{map[string]any{
		"address": "test_thing.source", "mode": "managed", "type": "test_thing", "name": "source", "provider_name": "p",
		"change": map[string]any{"actions": []string{"create"}, "after": map[string]any{"s": d.secrets}, "after_sensitive": map[string]any{"s": true}},
	}}
	for i := range rapid.IntRange(0, 3).Draw(t, "changes") {
		before, after := d.resource(t), d.resource(t)
		changes = append(changes, map[string]any{
			"address": fmt.Sprintf("test_thing.a[%d]", i), "mode": "managed", "type": "test_thing", "name": "a", "provider_name": "p",
			"change": map[string]any{
				"actions": []string{"update"}, "before": before, "after": after, "after_unknown": d.marks(t, after),
				"before_sensitive": d.marks(t, before), "after_sensitive": d.marks(t, after),
			},
		})
	}
	return changes
}

func draw(t *rapid.T) drawer {
	return drawer{secrets: rapid.SliceOfN(rapid.StringMatching(`~~[a-z"\\<&é]{4,8}~~`), 1, 3).Draw(t, "secrets")}
}

// TestNoSecretSurvives: whatever the plan and its maps, no secret is in the
// input; and nothing is changed but what a map then calls sensitive.
func TestNoSecretSurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		changes := d.plan(rt)
		p := decode(rt, encode(rt, changes, false))
		for _, c := range input.Contracts() {
			in, err := input.Build(c, p, tracked(), input.Bounds{})
			if err != nil {
				rt.Fatal(err)
			}
			for _, s := range d.secrets {
				if err := (input.Canaries{{Name: s, Value: s}}).Refuse("the input", in.Text); err != nil {
					rt.Fatalf("%v: %s", err, in.Text)
				}
			}
			for i := range p.Changes {
				got := in.Document.ResourceChanges[i].Change
				obeyed(rt, p.Changes[i].BeforeSensitive, got.Before)
				obeyed(rt, p.Changes[i].AfterSensitive, got.After)
				explained(rt, p.Changes[i].Before, got.Before, got.BeforeSensitive)
				explained(rt, p.Changes[i].After, got.After, got.AfterSensitive)
			}
		}
	})
}

// obeyed fails if got shows anything that the plan's own map marks.
func obeyed(t *rapid.T, marks, got any) {
	if got == nil {
		return
	}
	switch m := marks.(type) {
	case bool:
		if m {
			t.Fatalf("%v is marked", got)
		}
	case map[string]any:
		object, ok := got.(map[string]any)
		for k, e := range m {
			if !ok && trueIn(e) {
				t.Fatalf("%v is marked by %v", got, m)
			}
			obeyed(t, e, object[k])
		}
	case []any:
		list, ok := got.([]any)
		if (!ok || len(list) != len(m)) && trueIn(m) {
			t.Fatalf("%v is marked by %v", got, m)
		}
		for i, e := range m {
			if i < len(list) {
				obeyed(t, e, list[i])
			}
		}
	}
}

func trueIn(marks any) bool {
	switch m := marks.(type) {
	case bool:
		return m
	case []any:
		return slices.ContainsFunc(m, trueIn)
	case map[string]any:
		for _, e := range m {
			if trueIn(e) {
				return true
			}
		}
	}
	return false
}

// explained fails unless got is v, with null where marks say so.
func explained(t *rapid.T, v, got, marks any) {
	if marks == true {
		if got != nil {
			t.Fatalf("%v is called sensitive", got)
		}
		return
	}
	switch v := v.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		m, _ := marks.(map[string]any)
		if object == nil || len(object) != len(v) {
			t.Fatalf("%v became %v, and nothing says why: %v", v, got, marks)
		}
		for k, e := range v {
			explained(t, e, object[k], m[k])
		}
	case []any:
		list, _ := got.([]any)
		m, _ := marks.([]any)
		if list == nil || len(list) != len(v) || len(m) > 0 && len(m) != len(v) {
			t.Fatalf("%v became %v, and nothing says why: %v", v, got, marks)
		}
		for i, e := range v {
			var mark any
			if len(m) > 0 {
				mark = m[i]
			}
			explained(t, e, list[i], mark)
		}
	default:
		if v != got {
			t.Fatalf("%v became %v, and nothing says why: %v", v, got, marks)
		}
	}
}

// TestReadIsBuild: what was written is read as what was built, and the order of
// keys in the plan does not matter.
func TestReadIsBuild(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		changes := draw(rt).plan(rt)
		from := rapid.SampledFrom([]input.Provenance{tracked(), manual()}).Draw(rt, "from")
		for _, c := range input.Contracts() {
			in, err := input.Build(c, decode(rt, encode(rt, changes, false)), from, input.Bounds{})
			if err != nil {
				rt.Fatal(err)
			}
			back, err := input.Read(in.Text, input.Bounds{})
			if err != nil {
				rt.Fatalf("%v: %s", err, in.Text)
			}
			if diff := cmp.Diff(in, back, cmp.AllowUnexported(input.Contract{})); diff != "" {
				rt.Fatalf("-written +read:\n%s", diff)
			}
			turned, err := input.Build(c, decode(rt, encode(rt, changes, true)), from, input.Bounds{})
			if err != nil || turned.Digest != in.Digest || string(turned.Text) != string(in.Text) {
				rt.Fatalf("%v: in another order it is\n%s, not\n%s", err, turned.Text, in.Text)
			}
		}
	})
}

// TestTextIsRFC8785 compares with another implementation where a double holds
// every number.
func TestTextIsRFC8785(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		d.doubles = true
		in := build(rt, encode(rt, d.plan(rt), false))
		want, err := jcs.Transform(in.Text)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(in.Text)); diff != "" {
			rt.Errorf("-want +got:\n%s", diff)
		}
	})
}

// encode writes a plan with its keys in one order or the other.
func encode(t *rapid.T, changes []any, turned bool) string {
	var b strings.Builder
	write(t, &b, map[string]any{"format_version": "1.2", "resource_changes": changes}, turned)
	return b.String()
}

func write(t *rapid.T, b *strings.Builder, v any, turned bool) {
	switch v := v.(type) {
	case map[string]any:
		var keys []string
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if turned {
			slices.Reverse(keys)
		}
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			write(t, b, k, turned)
			b.WriteByte(':')
			write(t, b, v[k], turned)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(t, b, e, turned)
		}
		b.WriteByte(']')
	default:
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
}
