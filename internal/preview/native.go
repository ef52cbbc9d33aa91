package preview

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// An object is one of a plan's JSON. What is not there, or is of another type than
// the tools write, is empty.
type object map[string]any

func asObject(v any) object {
	o, _ := v.(map[string]any)
	return o
}

func (o object) object(key string) object { return asObject(o[key]) }

func (o object) list(key string) []any {
	list, _ := o[key].([]any)
	return list
}

func (o object) text(key string) string {
	text, _ := o[key].(string)
	return text
}

// local is what the override files call the provider.
const local = "assizepreview"

// Native returns the JSON of a plan that was made in a mirror as it is for a stack
// whose reads are its own: a policy that lists providers, or counts what is read,
// must not judge the preview (docs/preview.md, rule 14). Nothing else is changed;
// numbers keep their digits. What may differ from a real plan is whether a provider
// without configuration is noted once for the root or once for a module.
func Native(planJSON []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(planJSON))
	decoder.UseNumber()
	var doc map[string]any
	err := decoder.Decode(&doc)
	if _, more := decoder.Token(); err != nil || doc == nil || more != io.EOF {
		return nil, problem.New(api.Invalid, "what the tool shows of a preview is no JSON object")
	}
	plan := object(doc)
	if changes := plan.list("resource_changes"); changes != nil {
		plan["resource_changes"] = slices.DeleteFunc(changes, isOurs)
	}
	unread(plan.object("planned_values").object("root_module"))
	rename(plan.object("prior_state").object("values").object("root_module"))
	configuration := plan.object("configuration")
	restore(configuration.object("root_module"), configuration.object("provider_config"))

	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(doc)
	return out.Bytes(), err
}

// isOurs reports whether a resource or a change of one is of our provider.
func isOurs(v any) bool { return ours(asObject(v).text("provider_name")) }

func ours(provider string) bool {
	return provider == address("tofu") || provider == address("terraform")
}

// unread takes the data blocks that are not read yet out of a module and those
// below it: once the upstream is applied, every plan reads them first.
func unread(module object) {
	if resources := module.list("resources"); resources != nil {
		if resources = slices.DeleteFunc(resources, isOurs); len(resources) > 0 {
			module["resources"] = resources
		} else {
			delete(module, "resources")
		}
	}
	for _, child := range module.list("child_modules") {
		unread(asObject(child))
	}
}

// rename gives what was read, in a module and those below it, its provider.
func rename(module object) {
	for _, v := range module.list("resources") {
		if r := asObject(v); isOurs(v) {
			_, r["provider_name"] = owner(r.text("type"), r.text("provider_name"))
		}
	}
	for _, child := range module.list("child_modules") {
		rename(asObject(child))
	}
}

// owner is the provider that a data source has by itself: the name that it usually
// goes by, and the whole one, in the registry of ours.
func owner(kind, ours string) (name, whole string) {
	if kind == "tfe_outputs" {
		registry, _, _ := strings.Cut(ours, "/")
		return "tfe", registry + "/hashicorp/tfe"
	}
	return "terraform", "terraform.io/builtin/terraform"
}

// restore takes the override out of the configuration of the root module and of
// those that it calls.
func restore(root, providers object) {
	address := ""
	for key, p := range providers {
		if name := asObject(p).text("full_name"); ours(name) {
			address = name
			delete(providers, key)
		}
	}
	for modules := []object{root}; address != "" && len(modules) > 0; modules = modules[1:] {
		for _, v := range modules[0].list("resources") {
			r := asObject(v)
			prefix, found := strings.CutSuffix(r.text("provider_config_key"), local)
			if !found {
				continue
			}
			name, whole := owner(r.text("type"), address)
			r["provider_config_key"] = prefix + name
			if providers[name] == nil {
				providers[name] = map[string]any{"name": name, "full_name": whole}
			}
			for _, argument := range []string{"outputs", "values", "nonsensitive_values"} {
				delete(r.object("expressions"), argument)
			}
		}
		for _, call := range modules[0].object("module_calls") {
			modules = append(modules, asObject(call).object("module"))
		}
	}
}
