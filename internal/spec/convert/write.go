package convert

import (
	"maps"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/spec/convert/cuetext"
	"github.com/assize-iac/assize/internal/spec/convert/native"
)

// text is the whole specification, not yet formatted.
func (c *converter) text() string {
	var body []string
	for _, p := range c.providers {
		body = append(body, c.providerText(p))
	}
	root := &tree{}
	for _, i := range c.items {
		root.at(i.path).text = c.itemText(i)
	}
	fields := root.lines(c)
	outputs := c.outputs()
	// What is referred to is known only now.
	for _, name := range slices.Sorted(maps.Keys(c.variables)) {
		w := &writing{reach: &reach{}, c: c}
		body = append(body, c.variables[name]+": "+w.write(c.doc.Variables[name].Value, nil))
	}
	body = append(body, c.settings()...)
	return "package estate\n\n" + c.imports() + "\n" + strings.Join(append(body, fields...), "\n\n") + "\n\n" + outputs
}

func (c *converter) imports() string {
	lines := map[string]bool{}
	for _, p := range c.providers {
		switch name := packageName(p.source); {
		case p.pkg != name:
			lines[p.pkg+" "+cuetext.Quoted(p.source+":"+name)] = true
		case strings.HasSuffix(p.source, "/"+name):
			lines[cuetext.Quoted(p.source)] = true
		default:
			lines[cuetext.Quoted(p.source+":"+name)] = true
		}
	}
	if c.functions {
		lines[`tofu "terraform.io/builtin/functions"`] = true
	}
	if len(lines) == 1 {
		return "import " + slices.Sorted(maps.Keys(lines))[0] + "\n"
	}
	return "import (\n" + strings.Join(slices.Sorted(maps.Keys(lines)), "\n") + "\n)\n"
}

// settings is where the state is. A secret is no part of it.
func (c *converter) settings() []string {
	b := c.stack.Backend
	if b.Kind == "" || b.Kind == "local" {
		return nil
	}
	if b.Named() && !b.says() {
		c.leave("backend."+b.Kind, "say it of the stack in assize.yaml: workspace: "+b.Workspace, "the state is that of the workspace %s, and a specification does not say which", b.Workspace)
	}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(b.Config)) {
		switch v := b.Config[name]; {
		case v == nil:
		case c.stack.Secret(name):
			c.leave("backend."+b.Kind, "leave it to the environment", "%s may be a secret and is not written", name)
		default:
			w := &writing{reach: &reach{}, c: c}
			fields = append(fields, cuetext.Field(name)+": "+w.write(v, nil))
		}
	}
	return []string{"$settings: state: " + cuetext.Field(b.Kind) + ": " + cuetext.Struct(fields)}
}

// outputs is what is put out. One that would show something that is hidden now is
// not written.
func (c *converter) outputs() string {
	at := scope{module: c.doc.Configuration.Root}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(at.module.Outputs)) {
		config, state := at.module.Outputs[name], c.doc.State.Values.Outputs[name]
		address := "output." + name
		e := native.ExpressionOf(config.Expression)
		w := &writing{reach: c.reach(e.References, at, nil), c: c}
		hidden := config.Sensitive || state.Sensitive
		var marks any
		if hidden {
			marks = true
		}
		text := w.write(state.Value, marks)
		switch shown := hidden && !slices.ContainsFunc(w.all, func(a candidate) bool { return a.sensitive && equal(a.value, state.Value) }); {
		case state.Value == nil:
			c.leave(address, "", "it has no value in the state")
		case w.secret || shown:
			c.leave(address, "", "it is sensitive, and the specification would show it: it is not written, and goes")
		default:
			c.explain(address, "the value", w, e)
			c.nested[name] = true
			fields = append(fields, cuetext.Field(name)+": "+text)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return "$output: {\n" + strings.Join(fields, "\n") + "\n}\n"
}

// explain notes that a value is written as it is, though something was referred to.
func (c *converter) explain(address, what string, w *writing, e native.Expression) {
	var refs []string
	for _, ref := range native.Longest(e.References) {
		if strings.HasPrefix(ref, "path.") && w.plain {
			c.leave(address, `there, "\(tofu.#root)" leads to the specification`, "%s is made of %s: as it is now, it begins in the directory where the tool works for a specification", what, ref)
		}
		if first := steps(ref)[0].name; !slices.Contains([]string{"each", "count", "path", "terraform", "tofu", "self"}, first) {
			refs = append(refs, ref)
		}
	}
	if w.plain && !w.taken && len(refs) > 0 {
		c.leave(address, "", "%s is written as the value that it has now; it is computed from %s", what, strings.Join(refs, ", "))
	}
}

// A tree is fields within fields, in the order in which they were first named.
type tree struct {
	step     step
	text     string
	children []*tree
}

func (t *tree) at(path []step) *tree {
	for _, s := range path {
		n := slices.IndexFunc(t.children, func(c *tree) bool { return c.step == s })
		if n < 0 {
			n = len(t.children)
			t.children = append(t.children, &tree{step: s})
		}
		t = t.children[n]
	}
	return t
}

// lines are the fields of the package.
func (t *tree) lines(c *converter) []string {
	var out []string
	for _, child := range t.children {
		name := child.step.label()
		label := cuetext.Field(name)
		if alias := c.aliases[name]; alias != "" {
			label = alias + "=" + label
		}
		out = append(out, label+": "+child.String(c))
	}
	return out
}

// String is what a field holds.
func (t *tree) String(c *converter) string {
	if len(t.children) == 0 {
		return t.text
	}
	slices.SortStableFunc(t.children, func(a, b *tree) int {
		x, _ := a.step.key.(int)
		y, _ := b.step.key.(int)
		return x - y
	})
	var out []string
	for _, child := range t.children {
		if _, number := child.step.key.(int); number {
			out = append(out, child.String(c))
			continue
		}
		name := child.step.label()
		c.nested[name] = true
		out = append(out, cuetext.Field(name)+": "+child.String(c))
	}
	if _, number := t.children[0].step.key.(int); number {
		return "[\n" + strings.Join(out, ",\n") + ",\n]"
	}
	if len(out) == 1 {
		return out[0]
	}
	return "{\n" + strings.Join(out, "\n\n") + "\n}"
}
