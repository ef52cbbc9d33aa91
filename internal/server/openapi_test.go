package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/assize-iac/assize/api"
)

var rewrite = flag.Bool("update", false, "rewrite docs/openapi.yaml")

// TestOpenAPI: the document that is committed is the one that is served.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	want, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "openapi.yaml")
	if *rewrite {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/openapi.yaml is not what the endpoints say; run the test with -update:\n%s", diff)
	}
}

// document is the OpenAPI document as JSON, and a compiler of the schemas in it.
var document = sync.OnceValues(func() (map[string]any, error) {
	text, err := OpenAPI()
	if err != nil {
		return nil, err
	}
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return parsed.(map[string]any), nil
})

// conform checks that an answer to a request for route is one that the document
// announces.
func conform(t *testing.T, route string, got reply) {
	t.Helper()
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	method, path, _ := strings.Cut(route, " ")
	method = strings.ToLower(method)
	responses := doc["paths"].(map[string]any)[path].(map[string]any)[method].(map[string]any)["responses"].(map[string]any)
	at := "/components/schemas/Error"
	if response, ok := responses[strconv.Itoa(got.status)].(map[string]any); ok {
		media, ok := response["content"].(map[string]any)
		if !ok && len(got.body) == 0 || ok && media["application/json"] == nil {
			return
		}
		escaped := strings.ReplaceAll(path, "/", "~1")
		at = "/paths/" + escaped + "/" + method + "/responses/" + strconv.Itoa(got.status) + "/content/application~1json/schema"
	} else if got.status < 400 {
		t.Errorf("%s: %d is none of %v", route, got.status, slices.Sorted(maps.Keys(responses)))
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("openapi.json#" + at)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %d %s is not what the document announces: %v", route, got.status, got.body, err)
	}
}

// TestStatuses: every code has a status of its own kind, and only what is unknown is 500.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, code := range api.Codes() {
		if code.Status() < 400 || (code.Status() == 500) != (code == api.Internal) {
			t.Errorf("%s has no status", code)
		}
	}
}
