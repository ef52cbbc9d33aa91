package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const file = `{"version": 4, "terraform_version": "1.12.6", "serial": 5, "lineage": "l",
	"outputs": {"b": {"value": [1, 2.50], "type": ["tuple", ["number", "number"]]}, "a": {"value": "x", "type": "string", "sensitive": true}},
	"resources": [
		{"mode": "managed", "type": "t", "name": "n", "provider": "p", "instances": [{"index_key": 0, "attributes": {"secret": "hunter2"}}, {"index_key": "b"}]},
		{"module": "module.m", "mode": "data", "type": "d", "name": "n", "provider": "p", "instances": [{}]},
		{"mode": "managed", "type": "t", "name": "gone", "provider": "p", "instances": []}],
	"check_results": null}`

func TestRead(t *testing.T) {
	t.Parallel()
	serial := int64(5)
	want := Contents{Format: 4, Serial: &serial, Lineage: "l", Tool: "1.12.6", Managed: 1,
		Outputs: []Output{
			{Name: "a", Sensitive: true, Type: json.RawMessage(`"string"`), Value: json.RawMessage(`"x"`)},
			{Name: "b", Type: json.RawMessage(`["tuple", ["number", "number"]]`), Value: json.RawMessage(`[1, 2.50]`)}},
		Resources: []Resource{
			{Mode: "managed", Type: "t", Name: "n", Provider: "p", Count: 2, Keys: []json.RawMessage{[]byte("0"), []byte(`"b"`)}},
			{Module: "module.m", Mode: "data", Type: "d", Name: "n", Provider: "p", Count: 1, Keys: []json.RawMessage{[]byte("null")}},
			{Mode: "managed", Type: "t", Name: "gone", Provider: "p"}}}
	for name, r := range map[string]io.Reader{"at once": strings.NewReader(file), "byte by byte": iotest.OneByteReader(strings.NewReader(file)),
		"with space": strings.NewReader(file + "\n\n")} {
		got, err := Read(r)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// TestReadOthers: what is no file of version 4 is a state all the same when it is an
// object; all else is none.
func TestReadOthers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		ok, encrypted bool
		outputs       int
	}{
		`{}`: {true, false, 0},
		`{"version":99999999999,"serial":1.5,"terraform_version":"a\u0000b"}`:                    {true, false, 0},
		`{"version":-3.2e99,"serial":99999999999999999999999}`:                                   {true, false, 0},
		`{"serial":1,"lineage":"l","meta":{},"encrypted_data":"AAAA","encryption_version":"v0"}`: {true, true, 0},
		`{"version":[4],"serial":"x","lineage":7,"outputs":[1],"resources":{"a":1}}`:             {true, false, 0},
		`{"outputs":{"a":1,"b":{"value":2}},"resources":[1,{"instances":7},[]]}`:                 {true, false, 1},
		`{"modules":[{"outputs":{"old":{}}}]}`:                                                   {true, false, 0},
		``:                                                                                       {},
		` `:                                                                                      {},
		`null`:                                                                                   {},
		`[]`:                                                                                     {},
		`"text"`:                                                                                 {},
		`{"version":4`:                                                                           {},
		`{"version":4}{}`:                                                                        {},
		`{"version":4} x`:                                                                        {},
		`<html>502</html>`:                                                                       {},
		`{"a":1,}`:                                                                               {},
		`{"outputs":{"a":{"value`:                                                                {},
		strings.Repeat(`[`, 20000):                                                               {},
	} {
		c, err := Read(strings.NewReader(text))
		if c.Serial != nil && !strings.Contains(text, `"serial":1`) || c.Tool != "" || c.Format > 4 {
			t.Errorf("%.40s: %+v", text, c)
		}
		if (err == nil) != want.ok || err == nil && (c.Encrypted != want.encrypted || len(c.Outputs) != want.outputs) {
			t.Errorf("%.40s: %+v, %v", text, c, err)
		}
	}
}

// TestReadBounded: a string that is too long is not looked at; the rest is read to
// its end, or the writer would wait for ever.
func TestReadBounded(t *testing.T) {
	t.Parallel()
	long := io.MultiReader(strings.NewReader(`{"version":4,"serial":3,"x":"`), io.LimitReader(endless('a'), 100<<20), strings.NewReader(`","lineage":"l"}`))
	counted := &counter{from: long}
	c, err := Read(counted)
	if err != nil || !c.Partial || c.Format != 4 || counted.read < 100<<20 {
		t.Errorf("%+v, %v, %d bytes were read", c, err, counted.read)
	}
}

// TestManyOutputs: of outputs without end some are kept. Each becomes a document when
// somebody reads the version, many times as large as the text in the file.
func TestManyOutputs(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 50000 {
		fmt.Fprintf(&b, `"%x":{},`, i)
	}
	outputs := "{" + strings.TrimSuffix(b.String(), ",") + "}"
	c, err := Read(strings.NewReader(`{"version":4,"serial":3,"outputs":` + outputs + `,"lineage":"l"}`))
	if err != nil || !c.Partial || len(c.Outputs) != 10000 || c.Lineage != "l" {
		t.Errorf("%d outputs, partial %v, lineage %q, %v", len(c.Outputs), c.Partial, c.Lineage, err)
	}
	if _, err := ParseOutputs([]byte(outputs)); err == nil {
		t.Error("outputs that are sent ahead are kept without end")
	}
}

// TestManyInstances: of resources and keys without end some are kept, all are counted,
// and what is kept is bounded in bytes (docs/state.md, rule 8).
func TestManyInstances(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 1<<10)
	for name, c := range map[string]struct{ resources, instances int }{"few resources": {10, 5000}, "few instances": {5000, 10}} {
		var b strings.Builder
		b.WriteString(`{"version":4,"serial":3,"resources":[`)
		for i := range c.resources {
			fmt.Fprintf(&b, `{"mode":"managed","type":%q,"name":"r%d","instances":[%s{}]},`, key, i, strings.Repeat(fmt.Sprintf(`{"index_key":%q},`, key), c.instances-1))
		}
		b.WriteString(`{}],"lineage":"l"}`)
		got, err := Read(strings.NewReader(b.String()))
		if err != nil || got.Managed != c.resources || got.Lineage != "l" {
			t.Fatalf("%s: %d managed, %v", name, got.Managed, err)
		}
		text, err := json.Marshal(got.Resources)
		if err != nil || len(text) > 20<<20 || len(text) < 1<<20 {
			t.Errorf("%s: of %d MiB %d are kept, %v", name, b.Len()>>20, len(text)>>20, err)
		}
		for _, r := range got.Resources {
			if r.Count != c.instances && r.Name != "" {
				t.Fatalf("%s: %d instances", name, r.Count)
			}
		}
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte{byte(e)}, len(p))), nil
}

type counter struct {
	from io.Reader
	read int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.read += n
	return n, err
}

func TestParseOutputs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{``: 0, `null`: 0, `{}`: 0, `{"a":{"value":1,"type":"number","sensitive":false},"b":{}}`: 2, `[]`: -1, `{"a":`: -1, `7`: -1} {
		got, err := ParseOutputs([]byte(text))
		if (err != nil) != (want < 0) || err == nil && len(got) != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestConceal(t *testing.T) {
	t.Parallel()
	c, err := Read(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	want := []Output{{Name: "a", Sensitive: true}, {Name: "b"}}
	if diff := cmp.Diff(want, Conceal(c.Outputs)); diff != "" {
		t.Error(diff)
	}
}

// FuzzRead: whatever comes, there is an answer; and what is taken for a state is an
// object for everybody else too.
func FuzzRead(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte(`{"outputs":{"a":{"value":"\ud800"}}}`))
	f.Add([]byte("{\"resources\":[{\"instances\":[\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(bytes.NewReader(text))
		if err == nil && !json.Valid(text) {
			t.Errorf("taken for JSON: %q", text)
		}
		if _, err := json.Marshal(c.Outputs); err != nil {
			t.Errorf("the outputs cannot be written down: %v", err)
		}
	})
}
