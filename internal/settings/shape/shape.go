// Package shape makes the JSON Schemas of configuration files out of what their readers
// ask for. It must not read any.
package shape

import "encoding/json"

// A Shape is what a reader asks for: the schema of one object. It is noted while a file
// is read, so that no key can be read and not be in the schema. A nil Shape notes
// nothing.
type Shape struct {
	path   string // of the object, such as stacks.instances
	Schema map[string]any
}

// New is the shape of an object at a path, "" for the whole file.
func New(path string) *Shape {
	return &Shape{path: path, Schema: map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}}
}

// Set notes what a key may have.
func (s *Shape) Set(name string, value map[string]any) {
	if s == nil {
		return
	}
	if text := meanings[s.below(name)]; text != "" {
		value["description"] = text
	}
	s.Schema["properties"].(map[string]any)[name] = value
}

// Object notes an object under a key, and returns its shape.
func (s *Shape) Object(name string) *Shape {
	if s == nil {
		return nil
	}
	o := New(s.below(name))
	s.Set(name, o.Schema)
	return o
}

// below is the path of a key.
func (s *Shape) below(name string) string {
	if s.path == "" {
		return name
	}
	return s.path + "." + name
}

// Texts is a list of texts with something in them.
func Texts() map[string]any {
	return map[string]any{"type": "array", "items": map[string]any{"type": "string", "minLength": 1}}
}

// Variables is an object of names that match a pattern, each with one text or with one for
// each mode.
func Variables(pattern string, modes ...string) map[string]any {
	text := map[string]any{"type": "string"}
	each := New("")
	for _, mode := range modes {
		each.Set(mode, text)
	}
	return map[string]any{"type": "object",
		"propertyNames":        map[string]any{"pattern": pattern},
		"additionalProperties": map[string]any{"oneOf": []any{text, each.Schema}}}
}

// Names are names that match a pattern: a list of them, or an object that says of each
// what is said of it, or nothing.
func (s *Shape) Names(pattern string, longest int) map[string]any {
	name := map[string]any{"type": "string", "pattern": pattern, "maxLength": longest}
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "array", "items": name, "minItems": 1, "uniqueItems": true},
		map[string]any{"type": "object", "propertyNames": name, "minProperties": 1,
			"additionalProperties": map[string]any{"oneOf": []any{map[string]any{"type": "null"}, s.Schema}}},
	}}
}

// Document is the schema as a file.
func (s *Shape) Document(title, description string) []byte {
	s.Schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s.Schema["title"], s.Schema["description"] = title, description
	data, _ := json.MarshalIndent(s.Schema, "", "  ") // maps of text can be written
	return append(data, '\n')
}

// meanings are what an editor shows of a key. A test compares them with the tables of
// docs/configuration.md.
var meanings = map[string]string{
	"version":                         "only `1` is known",
	"stacks.discover":                 "what is looked at for stacks; an empty list is the default",
	"stacks.include":                  "these are stacks, whatever is in them",
	"stacks.exclude":                  "these are no stacks, whatever `discover` and `include` say",
	"stacks.ignore":                   "a change of these affects no stack; `[]` ignores nothing",
	"stacks.ignore_lockfile":          "adds `**/.terraform.lock.hcl` to `ignore`",
	"stacks.instances.from_var_files": "one instance for each file that it matches (rule 10)",
	"modules.paths":                   "these hold modules and are never discovered as stacks; an empty list is the default",
	"tool":                            "what the stacks are planned with",
	"tool_version":                    "the version that it must have",
	"environments":                    "where the applies of which stacks run (rule 17)",
	"backend_config":                  "`-backend-config` for `init`: `name=value`, or a file",
	"var_files":                       "`-var-file` for plans, relative to each *stack's directory*",
	"env":                             "the environment of the tool and the hooks (rules 14 and 15)",
	"plan_output":                     "how much of a plan leaves the machine that made it",
	"apply.mode":                      "when a pull request is applied",
	"apply.require_approvals":         "approving reviews that an apply needs",
	"apply.require_codeowner_review":  "each stack needs the approval of one of its owners",
	"apply.allowed_teams":             "who may ask for an apply; `team` or `org/team`",
	"apply.four_eyes":                 "the author of a pull request may not apply it",
	"apply.from_plan":                 "the saved plan is applied; otherwise it is planned again and compared",
	"apply.max_parallel":              "stacks in one dispatch",
	"propagate.dependents":            "the dependents of a changed stack are affected as well",
	"propagate.cross_repo":            "plan dependents in other repositories after an apply",
	"drift.schedule":                  "when drift is looked for; in UTC unless it starts with `CRON_TZ=ZONE` and a space",
	"drift.open_issue":                "an issue for each stack that has drifted",
	"policies":                        "what judges the plans (rule 6)",
	"exceptions":                      "a file of exceptions",
	"depends_on":                      "what this stack depends on: `path`, `path:instance` or `owner/repo//path:instance`",
	"ignore_inferred":                 "edges inferred from remote state that are not wanted",
	"instances":                       "the instances of this directory (rule 10)",
	"workspace":                       "the tool's workspace (rule 16)",
	"environment":                     "where its applies run (rule 18)",
}
