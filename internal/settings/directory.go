package settings

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/assize-iac/assize/internal/stack"
	"github.com/assize-iac/assize/internal/strict"
)

// A Layer is what one level says for a stack: the root, the directory, or an
// entry of instances. Templates are not yet rendered.
type Layer struct {
	Environment    Text // not at the root, where a table says it
	Workspace      Text // not at the root
	BackendConfig  []Text
	VarFiles       []Text
	Env            map[string]Variable
	PlanOutput     Text
	AllowedTeams   []Text
	DependsOn      []Text // not at the root
	IgnoreInferred []Text // not at the root
}

// A Directory is what the .assize.yaml of a directory says.
type Directory struct {
	Layer
	Tool        Text
	ToolVersion Text
	Instances   []Override // in the order of the file; nil where it names none
}

// An Override is one name under instances, with what it overrides.
type Override struct {
	Layer
	Name Text
}

// layerKeys are what a directory and an override have in common.
func layerKeys(more ...string) []string {
	return append([]string{
		"environment", "workspace", "backend_config", "var_files", "env", "plan_output", "apply", "depends_on", "ignore_inferred",
	}, more...)
}

var (
	tools       = []string{"tofu", "terraform"}
	planOutputs = []string{"full", "summary"}
)

// ParseDirectory reads an .assize.yaml; file is how problems call it. No data
// says nothing. All problems are one error.
func ParseDirectory(file string, data []byte) (*Directory, error) {
	var c strict.Complaints
	dir := &Directory{}
	if node, ok := c.ReadSparse(file, data); ok {
		r := newReader(&c, file, "", node)
		if r.IsObject() {
			r.Fields(layerKeys("tool", "tool_version", "instances"))
			dir = r.directory()
		}
	}
	c.Sort(0)
	if err := c.Err(hint); err != nil {
		return nil, err
	}
	return dir, nil
}

// DirectorySchema is that of an .assize.yaml.
func DirectorySchema() []byte {
	r := newReader(&strict.Complaints{}, "", "", strict.Node{}).described("")
	r.directory()
	return r.shape.Document(".assize.yaml", "What holds for the stack in this directory (docs/configuration.md).")
}

func (r *reader) directory() *Directory {
	return &Directory{
		Layer:       r.layer(),
		Tool:        r.word("tool", "", tools...),
		ToolVersion: r.optional("tool_version"),
		Instances:   r.instances(),
	}
}

// shared reads what every level can say.
func (r *reader) shared(layer *Layer) {
	layer.BackendConfig = r.texts("backend_config", wrongBackendConfig)
	layer.VarFiles = r.texts("var_files", nil)
	layer.Env = r.env()
}

func (r *reader) layer() Layer {
	layer := Layer{
		Environment:    r.template("environment", nil),
		Workspace:      r.template("workspace", wrongWorkspace),
		PlanOutput:     r.word("plan_output", "", planOutputs...),
		DependsOn:      r.texts("depends_on", wrongKey),
		IgnoreInferred: r.texts("ignore_inferred", wrongKey),
		AllowedTeams:   r.child("apply", "allowed_teams").texts("allowed_teams", nil),
	}
	r.shared(&layer)
	return layer
}

// instances reads a list of names, or a map from names to overrides.
func (r *reader) instances() []Override {
	if r.shape != nil {
		e := r.described("")
		e.layer()
		r.shape.Set("instances", e.shape.Names(instanceName.String(), instanceMax))
	}
	v, ok := r.Got["instances"]
	var out []Override
	switch {
	case !ok:
	case v.Kind == strict.List:
		out = r.instanceList(v)
	case v.Kind == strict.Object:
		for _, m := range r.members("instances") {
			out = append(out, r.override(m))
		}
	default:
		r.Fault(v, "instances is %s, want a list of names, or an object of names and what they override", v.Kind)
		return nil
	}
	// An author who writes that there is none must not get those of the var files.
	if ok && len(out) == 0 {
		r.Fault(v, "instances is empty; name one, or leave the key out")
	}
	return out
}

func (r *reader) instanceList(v strict.Node) []Override {
	var out []Override
	seen := map[string]bool{}
	for i, item := range v.Items {
		switch wrong := WrongInstance(item.Text); {
		case item.Kind != strict.Text:
			r.Fault(item, "instances: entry %d is %s, want a string%s", i+1, item.Kind, inQuotes(item))
		case wrong != "":
			r.Fault(item, "instances: entry %d: %s", i+1, strict.Cut(wrong))
		case seen[item.Text]:
			r.Fault(item, "instances: %q stands there twice", item.Text)
		}
		seen[item.Text] = true
		out = append(out, Override{Name: r.text(item)})
	}
	return out
}

// override reads an entry of the map form; nothing but a name overrides nothing.
func (r *reader) override(m strict.Member) Override {
	if wrong := WrongInstance(m.Key.Text); wrong != "" {
		r.Fault(m.Key, "instances: %s", strict.Cut(wrong))
	}
	o := Override{Name: r.text(m.Key)}
	e := newReader(r.Complaints, r.File, "instances."+strict.Cut(m.Key.Text), m.Value)
	if m.Value.Kind != strict.Null && e.IsObject() {
		e.Fields(layerKeys())
		o.Layer = e.layer()
	}
	return o
}

// wrongWorkspace says why the tool could not have a workspace of that name: the
// seed's own characters, what the tool itself refuses, and what it would take
// for a flag.
func wrongWorkspace(name string) string {
	switch {
	case strings.ContainsAny(name, "/: \t"):
		return fmt.Sprintf("workspace %q holds a slash, a colon or a space", strict.Cut(name))
	case strings.HasPrefix(name, "-"), url.PathEscape(name) != name:
		return fmt.Sprintf("workspace %q is none that the tool can have", strict.Cut(name))
	}
	return ""
}

// wrongKey says why an entry names no stack.
func wrongKey(text string) string {
	key, err := stack.ParseKey(text)
	if err != nil {
		return strict.Cut(err.Error())
	}
	if key.Instance != "" {
		return strict.Cut(WrongInstance(key.Instance))
	}
	return ""
}

// wrongBackendConfig says why an entry is neither name=value nor a file of the
// repository. It repeats no value, which may be a secret.
func wrongBackendConfig(entry string) string {
	if name, _, ok := strings.Cut(entry, "="); ok {
		if strings.TrimSpace(name) == "" {
			return "there is no name before the ="
		}
		return ""
	}
	if leaves(entry) {
		return fmt.Sprintf("%q leads out of the repository; files are relative to its root", strict.Cut(entry))
	}
	return ""
}

// wrongVarFile says why an entry is no file of the repository, for a stack in
// dir.
func wrongVarFile(dir, entry string) string {
	if path.IsAbs(entry) || leaves(path.Join(dir, entry)) {
		return fmt.Sprintf("%q leads out of the repository; files are relative to the stack's directory", strict.Cut(entry))
	}
	return ""
}
