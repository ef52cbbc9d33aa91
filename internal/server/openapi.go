package server

import (
	"bytes"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
)

// An openAPI has the parts of a document in the order in which people read them.
type openAPI struct {
	Version    string                    `yaml:"openapi"`
	Info       map[string]any            `yaml:"info"`
	Security   []any                     `yaml:"security"`
	Paths      map[string]map[string]any `yaml:"paths"`
	Components map[string]any            `yaml:"components"`
}

// OpenAPI is the OpenAPI 3.1 document of the endpoints, as YAML (docs/api.md, rule 7).
func OpenAPI() ([]byte, error) {
	schemas := binding.Schemas{}
	failure := map[string]any{"description": "it did not work", "content": content("application/json", schemas.Of(reflect.TypeFor[v1.Error]()))}
	paths := map[string]map[string]any{}
	for _, e := range (&server{}).endpoints() {
		method, path, _ := strings.Cut(e.route, " ")
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(method)] = operation(e, schemas)
	}
	var text bytes.Buffer
	to := yaml.NewEncoder(&text)
	to.SetIndent(2)
	err := to.Encode(openAPI{
		Version:  "3.1.0",
		Info:     map[string]any{"title": "Assize", "version": "1", "description": "The native API of a server of Assize. docs/api.md says its rules."},
		Security: []any{map[string]any{"token": []string{}}},
		Paths:    paths,
		Components: map[string]any{
			"schemas":         schemas,
			"responses":       map[string]any{"Error": failure},
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	})
	return text.Bytes(), err
}

// operation is what OpenAPI calls an endpoint.
func operation(e endpoint, schemas binding.Schemas) map[string]any {
	name := e.in.Name()
	o := map[string]any{
		"operationId": strings.ToLower(name[:1]) + name[1:],
		"summary":     e.summary,
		"responses":   map[string]any{strconv.Itoa(e.status): success(e, schemas), "default": map[string]any{"$ref": "#/components/responses/Error"}},
	}
	if e.needs != "" {
		o["description"] = "Needs the permission " + string(e.needs) + "."
	}
	var parameters []any
	for _, f := range binding.Fields(e.in) {
		switch f.Place {
		case binding.Path, binding.Query:
			parameters = append(parameters, map[string]any{"name": f.Name, "in": string(f.Place), "required": f.Required,
				"description": f.Doc, "schema": schemas.Bounded(f)})
		case binding.Stream:
			o["requestBody"] = map[string]any{"required": true, "description": f.Doc, "content": content(f.Name, map[string]any{})}
		}
	}
	if parameters != nil {
		o["parameters"] = parameters
	}
	if body := schemas.Request(e.in); body != nil {
		o["requestBody"] = map[string]any{"required": body["required"] != nil, "content": content("application/json", body)}
	}
	return o
}

func success(e endpoint, schemas binding.Schemas) map[string]any {
	switch e.out {
	case reflect.TypeFor[nothing]():
		return map[string]any{"description": "done"}
	case reflect.TypeFor[stream]():
		return map[string]any{"description": "bytes", "content": content(e.media, map[string]any{})}
	}
	return map[string]any{"description": "done", "content": content("application/json", schemas.Of(e.out))}
}

func content(mediaType string, schema map[string]any) map[string]any {
	return map[string]any{mediaType: map[string]any{"schema": schema}}
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	text, err := OpenAPI()
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(text) // nobody is left to be told
}
