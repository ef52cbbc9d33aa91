package decision_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/decision"
	"github.com/assize-iac/assize/internal/problem"
)

// Every bound and every refusal is in regoengine's TestSeed000Contract, where a
// policy makes them. Here is what must hold for all decisions.

func parse(text []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// TestReadSeed reads the example of seed 000, "Result contract".
func TestReadSeed(t *testing.T) {
	t.Parallel()
	v, err := parse([]byte(`{
  "findings": [
    {
      "id": "encryption-required",
      "title": "Encryption required",
      "message": "Enable encryption before apply.",
      "resource_address": "aws_s3_bucket.assets",
      "details": {
        "control": "storage-encryption"
      }
    }
  ]
}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decision.Read(v)
	if err != nil {
		t.Fatal(err)
	}
	want := []api.Finding{{
		Rule: "encryption-required", Level: api.Deny, Address: "aws_s3_bucket.assets", Title: "Encryption required",
		Message: "Enable encryption before apply.", Details: map[string]any{"control": "storage-encryption"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(api.DecisionSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("decision.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("decision.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// secret stands in every text that a property draws; no error may have it.
const secret = "s3cr3t"

// TestReadOrRefuse: a decision that is read is valid by the schema and within
// the bounds, with every finding a deny; one that is not read is a problem with
// a hint that quotes nothing.
func TestReadOrRefuse(t *testing.T) {
	t.Parallel()
	s := schema(t)
	rapid.Check(t, func(t *rapid.T) {
		v := draw(t)
		found, err := decision.Read(v)
		if err != nil {
			if said := err.Error() + problem.Hint(err); strings.Contains(said, secret) || problem.Hint(err) == "" {
				t.Fatalf("the error is %q", said)
			}
			return
		}
		if err := s.Validate(v); err != nil {
			t.Fatalf("read, and not valid: %v", err)
		}
		ids := map[string]bool{}
		for _, f := range found {
			if ids[f.Rule] || f.Level != api.Deny || f.Rule == "" || f.Message == "" {
				t.Fatalf("a finding %+v", f)
			}
			ids[f.Rule] = true
		}
	})
}

// draw is mostly a decision, with something wrong here and there.
func draw(t *rapid.T) any {
	text := rapid.SampledFrom([]any{secret, secret + "2", secret + strings.Repeat("€", 200), "", secret + "\xff", nil, json.Number("1")})
	n := rapid.IntRange(0, 3).Draw(t, "findings")
	list := []any{}
	for range n {
		f := map[string]any{"id": rapid.StringMatching("[a-z]{1,3}").Draw(t, "id"), "title": secret, "message": secret}
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			key := rapid.SampledFrom([]string{"id", "title", "message", "resource_address", "details", secret}).Draw(t, "key")
			f[key] = text.Draw(t, "value")
			if rapid.Bool().Draw(t, "nested") {
				f[key] = map[string]any{secret: []any{text.Draw(t, "element")}}
			}
		}
		list = append(list, f)
	}
	out := map[string]any{"findings": list}
	if rapid.IntRange(0, 9).Draw(t, "beside") == 0 {
		out[secret] = true
	}
	return out
}

// TestSchemaRefuses: what the schema refuses, the judge refuses.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	s := schema(t)
	rapid.Check(t, func(t *rapid.T) {
		v := draw(t)
		if _, err := decision.Read(v); err == nil && s.Validate(v) != nil {
			t.Fatalf("the schema alone refuses %v", v)
		}
	})
}

// FuzzRead: whatever JSON a policy gives is read or refused, and read twice it
// comes to the same.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"findings":[]}`, `{"findings":[{"id":"i","title":"t","message":"m","resource_address":"a.b","details":{"x":[1,null,{}]}}]}`,
		`{"findings":[{"id":"i","title":"t","message":"m","level":"warn"}]}`, `{"findings":{}}`, `[]`, `null`, `1e999`, `{"findings":[[]]}`,
		`{"findings":[{"id":"i","title":"t","message":"m","details":{"x":[[[[[[[[[]]]]]]]]]}}]}`,
	} {
		f.Add([]byte(text))
	}
	s := schema(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := parse(text)
		if err != nil {
			return
		}
		found, err := decision.Read(v)
		again, err2 := decision.Read(v)
		if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() || !cmp.Equal(found, again) {
			t.Errorf("two readings: %v %v", err, err2)
		}
		if err == nil && s.Validate(v) != nil {
			t.Error("read, and not valid")
		}
	})
}
