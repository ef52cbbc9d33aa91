package plan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
)

// TestDocument pins the bytes of one document: the order of the fields, what is
// left out, and that nothing is escaped for HTML.
func TestDocument(t *testing.T) {
	t.Parallel()
	p := decode(t, `{"format_version":"1.2","terraform_version":"1.12.6","timestamp":"2026-01-02T03:04:05Z",
		"resource_changes":[
			{"address":"a.new[0]","mode":"managed","type":"a","name":"new","index":0,"provider_name":"registry.opentofu.org/x/a",
			 "change":{"actions":["create"],"before":null,"after":{"n":1.0,"s":"<&>","null":null,"l":[null,"x"]},"after_unknown":{"id":true,"l":[true,false],"o":{"k":true,"j":false}}}},
			{"address":"a.gone","deposed":"00","mode":"managed","type":"a","name":"gone","change":{"actions":["delete"],"before":{"p":"hunter2"},"after":null,"before_sensitive":{"p":true}}},
			{"address":"a.same","previous_address":"a.was","mode":"managed","type":"a","name":"same","change":{"actions":["no-op"],"before":{"x":1},"after":{"x":1}}},
			{"address":"module.m[\"k\"].a.again","module_address":"module.m[\"k\"]","mode":"managed","type":"a","name":"again","action_reason":"replace_because_cannot_update",
			 "change":{"actions":["create","delete"],"before":{"p":{"q":"hunter2"},"out":"x"},"after":{"p":{"q":"hunter2"},"out":"say hunter2"},"after_unknown":{},"after_sensitive":{"p":true},"replace_paths":[["p","q"]]}},
			{"address":"a.left","mode":"managed","type":"a","name":"left","index":"","change":{"actions":["forget"],"before":{"x":1},"after":null}},
			{"address":"data.a.r","mode":"data","type":"a","name":"r","change":{"actions":["read"],"before":null,"after":{},"after_unknown":true}}],
		"output_changes":{"u":{"actions":["create"],"before":null,"after_unknown":true},"l":{"actions":["update"],"before":[1],"after":["hello",null,"world"],"after_unknown":[false,true,false]},
			"d":{"actions":["delete"],"before":1,"after":null}},
		"configuration":{"provider_config":{"a":{"name":"a","full_name":"registry.opentofu.org/x/a"},"a.west":{"name":"a","full_name":"registry.opentofu.org/x/a","alias":"west","version_constraint":"~> 1.0"}}}}`)
	want := strings.Join([]string{
		`{"format":1,"created":"2026-01-02T03:04:05Z","actor":"ada","reason":"r","git_revision":"g","trace_id":"t","destroy":false,`,
		`"summary":{"create":1,"update":0,"replace":1,"destroy":2,"forget":1,"import":0,"move":1,"read":1,"blast_radius":4},`,
		`"stats":{"resources":6,"no_op":1,"unknown":2,"deferred":0},"changes":[`,
		`{"addr":"a.new[0]","mode":"managed","type":"a","name":"new","action":"create","index":0,"provider":"registry.opentofu.org/x/a",`,
		`"after":{"id":{"$unknown":true},"l":[{"$unknown":true},"x"],"n":1,"null":null,"o":{"k":{"$unknown":true}},"s":"<&>"}},`,
		`{"addr":"a.gone","mode":"managed","type":"a","name":"gone","action":"delete","deposed":"00","sensitive":["p"],"before":{"p":"hunter2"}},`,
		`{"addr":"a.same","mode":"managed","type":"a","name":"same","action":"no-op","previous_addr":"a.was"},`,
		`{"addr":"module.m[\"k\"].a.again","mode":"managed","type":"a","name":"again","action":"replace","create_before_destroy":true,"module":"module.m[\"k\"]",`,
		`"action_reason":"replace_because_cannot_update","replace_paths":["p.q"],"sensitive":["out","p"],`,
		`"before":{"out":"x","p":{"q":"hunter2"}},"after":{"out":"say hunter2","p":{"q":"hunter2"}}},`,
		`{"addr":"a.left","mode":"managed","type":"a","name":"left","action":"forget","index":"","before":{"x":1}},`,
		`{"addr":"data.a.r","mode":"data","type":"a","name":"r","action":"read","after":{"$unknown":true}}],`,
		`"outputs":{"l":["hello",{"$unknown":true},"world"],"u":{"$unknown":true}},"hints":[],`,
		`"providers":{"registry.opentofu.org/x/a":{"version_constraint":"~> 1.0"}}}`,
	}, "")
	got := string(p.DocumentJSON(plan.Labels{Actor: "ada", Reason: "r", GitRevision: "g", TraceID: "t"}))
	if diff := cmp.Diff(strings.Split(want, `{"addr"`), strings.Split(got, `{"addr"`)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMaskedJSON hides by mark and by value, and nothing but that: what is
// unknown, null or harmless stays as it is.
func TestMaskedJSON(t *testing.T) {
	t.Parallel()
	p := decode(t, `{"format_version":"1.2","terraform_version":"1.12.6","resource_changes":[
		{"address":"a.b","mode":"managed","type":"a","name":"b","change":{"actions":["update"],
		 "before":{"p":"hunter2","whole":{"k":"v22"},"l":["x","hunter2"]},
		 "after":{"p":"hunter3","whole":{"k":"v22"},"l":["x","hunter3 mirrored"],"n":null,"ok":true},"after_unknown":{"u":true},
		 "before_sensitive":{"p":true,"whole":true},"after_sensitive":{"p":true,"whole":true,"u":true,"n":true}},
		 "importing":{"id":"hunter2"}}],
		"output_changes":{"o":{"actions":["create"],"before":null,"after":"hunter3","after_unknown":false,"after_sensitive":true}}}`)
	got := string(p.MaskedJSON(plan.Labels{}))
	for _, want := range []string{
		`"before":{"l":["x",{"$sensitive":true}],"p":{"$sensitive":true},"whole":{"$sensitive":true}}`,
		`"after":{"l":["x",{"$sensitive":true}],"n":null,"ok":true,"p":{"$sensitive":true},"u":{"$unknown":true},"whole":{"$sensitive":true}}`,
		`"outputs":{"o":{"$sensitive":true}}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
	}
	for _, secret := range []string{"hunter", "v22"} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is in %s", secret, got)
		}
	}
}

// TestDocumentOfNothing has every field that is always there, and no other.
func TestDocumentOfNothing(t *testing.T) {
	t.Parallel()
	want := `{"format":1,"created":"","actor":"","reason":"","git_revision":"","trace_id":"","destroy":false,` +
		`"summary":{"create":0,"update":0,"replace":0,"destroy":0,"forget":0,"import":0,"move":0,"read":0,"blast_radius":0},` +
		`"stats":{"resources":0,"no_op":0,"unknown":0,"deferred":0},"changes":[],"outputs":{},"hints":[],"providers":{}}`
	if got := string(decode(t, `{"resource_changes":null}`).DocumentJSON(plan.Labels{})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestDocumentSays has what surrounds the changes, and the flags of the caller.
func TestDocumentSays(t *testing.T) {
	t.Parallel()
	p := decode(t, `{"format_version":"0.1","complete":false,"resource_changes":[],
		"deferred_changes":[{"reason":"absent_prereq","resource_change":{"address":"a.b","mode":"managed","type":"a","name":"b","change":{"actions":["create"],"after":{}}}}],
		"resource_drift":[{"address":"a.c","change":{"actions":["update"]}}],
		"checks":[{"address":{"to_display":"check.c"},"status":"fail","instances":[{"problems":[{"message":"m"}]}]}],
		"configuration":{"root_module":{"module_calls":{"net":{"source":"./net","version_constraint":"1.0"}}}}}`)
	p.Flags = plan.Flags{Destroy: true, RefreshOnly: true, Targets: []string{"a.b"}, Replace: []string{"a.c"}}
	d := p.Document(plan.Labels{})
	incomplete := false
	want := api.Document{
		Format: 1, Destroy: true, Stats: api.Stats{Deferred: 1}, Changes: []api.Change{}, Outputs: map[string]any{}, Providers: map[string]any{},
		Hints: []string{
			"made with -target: this is not the whole change",
			"made with -refresh-only: it changes records, not objects",
			"the tool says that the plan is not complete: applying it leaves something to do",
			"changes that are left for a later plan: 1",
			"objects that have changed since the last apply: 1",
			"this plan's format marks no sensitive values of resources (Terraform before 0.15)",
		},
		Complete: &incomplete, RefreshOnly: true, Targets: []string{"a.b"}, Replace: []string{"a.c"},
		Modules:  []api.Module{{Addr: "module.net", Source: "./net", Version: "1.0"}},
		Checks:   []api.Checked{{Addr: "check.c", Status: "fail", Problems: []string{"m"}}},
		Deferred: []api.Change{{Addr: "a.b", Mode: "managed", Type: "a", Name: "b", Action: "create", Reason: "absent_prereq", After: map[string]any{}}},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	validate(t, p.DocumentJSON(plan.Labels{}))
}

// TestDocumentLeavesThePlan makes documents of one plan twice: what is unknown
// is merged into a copy.
func TestDocumentLeavesThePlan(t *testing.T) {
	t.Parallel()
	for name, raw := range realPlans(t) {
		p, err := plan.Decode(raw)
		if err != nil {
			continue
		}
		first, second := p.DocumentJSON(plan.Labels{}), p.DocumentJSON(plan.Labels{})
		if !bytes.Equal(first, second) {
			t.Errorf("%s: two documents differ", name)
		}
		fresh := decode(t, string(raw))
		for i := range p.Changes {
			if diff := cmp.Diff(fresh.Changes[i], p.Changes[i]); diff != "" {
				t.Errorf("%s: %s changed (-want +got):\n%s", name, p.Changes[i].Address, diff)
			}
		}
	}
}

// TestSchema holds the document of every real plan against the JSON Schema that
// authors are given, and checks that the schema refuses what is none.
func TestSchema(t *testing.T) {
	t.Parallel()
	for _, raw := range realPlans(t) {
		if p, err := plan.Decode(raw); err == nil {
			validate(t, p.DocumentJSON(plan.Labels{}))
		}
	}
	document := string(decode(t, one(`"before":{},"after":{}`)).DocumentJSON(plan.Labels{}))
	for _, tt := range []struct{ old, new string }{
		{`"format":1`, `"format":2`},
		{`"destroy":false`, `"destroyed":false`},
		{`"action":"update"`, `"action":"updated"`},
		{`"mode":"managed",`, ``},
		{`"hints":[]`, `"hints":null`},
		{`"blast_radius":1`, `"blast_radius":-1`},
	} {
		spoiled := strings.Replace(document, tt.old, tt.new, 1)
		if spoiled == document || schemaError(t, []byte(spoiled)) == nil {
			t.Errorf("%s became %s, and the schema has nothing against it", tt.old, tt.new)
		}
	}
}

func validate(t *testing.T, document []byte) {
	t.Helper()
	if err := schemaError(t, document); err != nil {
		t.Errorf("%v", err)
	}
}

// compiled is the schema, compiled once for the fuzzer's sake.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := jsonschema.UnmarshalJSON(strings.NewReader(api.DocumentSchema()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("document.json", text); err != nil {
		return nil, err
	}
	return c.Compile("document.json")
})

func schemaError(t *testing.T, document []byte) error {
	t.Helper()
	schema, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(v)
}

// small is a plan with the ends of its lists cut off: the fuzzer makes little of
// a long text.
func small(t testing.TB, raw []byte) []byte {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	return []byte(plan.Quote(cut(tree)))
}

func cut(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = cut(e)
		}
	case []any:
		v = v[:min(2, len(v))]
		for i, e := range v {
			v[i] = cut(e)
		}
		return v
	}
	return v
}

// FuzzDecode feeds anything: it never panics, and what decodes is one plan,
// whose document can be written, read, and held against the schema.
func FuzzDecode(f *testing.F) {
	f.Add(small(f, realPlans(f)["tofu1126-moved-forget-import"]))
	f.Add(small(f, realPlans(f)["tf1114-create"]))
	f.Add([]byte(one(`"before":{"p":"x"},"after":{"p":"{\"a\":[1]}","n":1e99999,"l":[null]},"after_unknown":{"l":[true],"q":{"r":true}},"before_sensitive":true,"after_sensitive":{"p":true}`)))
	f.Add([]byte(`{"format_version":"0.1","resource_changes":[{"address":"module.m[\"a\"].data.x.y[0]","change":{"actions":["read"]}}],"deferred_changes":[],"complete":null}`))
	f.Add([]byte(`{"values":{},"errored":true}`))
	f.Add([]byte("\xef\xbb\xbf{}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := plan.Decode(raw)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a message")
			}
			return
		}
		known := map[[2]string]bool{}
		for i := range p.Changes {
			c := &p.Changes[i]
			if id := [2]string{c.Address, c.Deposed}; c.Address == "" || known[id] {
				t.Errorf("%q is there twice, or empty", id)
			} else {
				known[id] = true
			}
			for _, text := range []string{"p", "p.a[*]", "l[*]", "q.r", "n"} {
				for _, found := range p.Lookup(c, path(t, text)) {
					p.Redact(plan.Quote(found.Value))
				}
				p.LookupBefore(c, path(t, text))
			}
		}
		document := p.DocumentJSON(plan.Labels{})
		if !json.Valid(document) || bytes.Contains(document, []byte("\n")) {
			t.Errorf("no line of JSON: %s", document)
		}
		validate(t, document)
	})
}
