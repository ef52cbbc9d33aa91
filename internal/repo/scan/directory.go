package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/stack"
)

// A directory is what the configuration in one directory says that matters for
// the graph, read as one tool reads it.
type directory struct {
	path      string
	files     []file // what the tool reads, sorted, overrides last
	backend   *backend
	locked    bool           // a lock file is there
	estate    bool           // CUE files of package estate are there
	spec      *specification // what those say; nil without any, or if they cannot be read
	resources bool           // it declares some
	calls     []*moduleCall
	reads     []*read
	locals    map[string]hcl.Expression
	variables map[string]variable
	cloud     map[string]hcl.Expression // attributes of provider "tfe"
	problems  []*problem.Error
	warnings  []string

	known    []stack.Call // calls, with what their source means; keys of local ones are paths from the root
	through  []string     // paths of modules that are called through links
	extra    []file       // var files, lock file and the like that lie in the directory
	fixed    []stack.State
	floating []*read // reads whose state depends on who calls the module
}

type backend struct {
	kind string
	said said
	at   hcl.Range
}

type moduleCall struct {
	name            string
	source, version hcl.Expression
	at              hcl.Range
}

// A read is a data source that reads the state of another stack.
type read struct {
	block, kind, name       string // data or ephemeral; terraform_remote_state or tfe_outputs
	backend, config         hcl.Expression
	workspace, organization hcl.Expression
	forEach, defaults       hcl.Expression
	at                      hcl.Range
}

// The blocks and attributes that the scan looks at; everything else is the
// tool's business.
var (
	rootSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "terraform"}, {Type: "locals"},
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "module", LabelNames: []string{"name"}},
		{Type: "provider", LabelNames: []string{"name"}},
		{Type: "data", LabelNames: []string{"type", "name"}},
		{Type: "ephemeral", LabelNames: []string{"type", "name"}},
		{Type: "check", LabelNames: []string{"name"}},
	}}
	checkSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "data", LabelNames: []string{"type", "name"}},
	}}
	terraformSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "backend", LabelNames: []string{"type"}}, {Type: "cloud"},
	}}
	moduleSchema = optional("source", "version")
	readSchema   = optional("backend", "config", "workspace", "organization", "for_each", "defaults")
	cloudSchema  = optional("hostname", "organization")
)

func optional(names ...string) *hcl.BodySchema {
	schema := &hcl.BodySchema{}
	for _, name := range names {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name})
	}
	return schema
}

// readDirectory reads the configuration of dir as tool does. What does not
// parse is a problem of the directory; what does is kept.
func (t *tree) readDirectory(dir, tool string, cache *Cache) *directory {
	d := &directory{path: dir, locals: map[string]hcl.Expression{}, variables: map[string]variable{}, cloud: map[string]hcl.Expression{}}
	names, walked := t.dirs[dir]
	if !walked {
		entries, _ := fs.ReadDir(t.files, dir)
		for _, e := range entries {
			if !e.IsDir() && matters(e.Name()) {
				names = append(names, e.Name())
			}
		}
	}
	d.locked = slices.Contains(names, lockName)
	from := t.stand(dir)
	defer from.close()
	d.loadAll(t, from, chosen(names, tool), tool, cache)
	for _, name := range names {
		if !isConfiguration(name) {
			d.loadExtra(t, from, path.Join(dir, name))
		}
	}
	return d
}

// loadAll reads the files of those names, and parses them unless the cache knows
// what they say. Either way d says it by a fact, if it can be said by one.
func (d *directory) loadAll(t *tree, from standpoint, names []string, tool string, cache *Cache) {
	data := make(map[string][]byte, len(names))
	for _, name := range names {
		text, f, err := t.readFrom(from, path.Join(d.path, name))
		if err != nil {
			d.fail(err)
			continue
		}
		d.files = append(d.files, f)
		data[f.name] = text
	}
	if t.verbatim {
		for _, f := range d.files {
			d.load(data[f.name], f.name)
		}
		return
	}
	key := entry(d.path, tool, d.files)
	known, ok := cache.get(key)
	if !ok {
		for _, f := range d.files {
			d.load(data[f.name], f.name)
		}
		if known, ok = d.fact(data); ok {
			cache.put(key, known)
		}
	}
	if ok {
		d.recall(known)
	}
}

// clause matches that of a CUE file that is part of a specification.
var clause = regexp.MustCompile(`(?m)^\s*package\s+estate\b`)

// loadExtra notes a file that is no configuration but part of a stack.
func (d *directory) loadExtra(t *tree, from standpoint, name string) {
	data, f, err := t.readFrom(from, name)
	if err != nil {
		d.fail(err)
		return
	}
	if path.Ext(name) == ".cue" {
		if !clause.Match(data) {
			return
		}
		d.estate = true
	}
	d.extra = append(d.extra, f)
}

func (d *directory) fail(err error) {
	var p *problem.Error
	if !errors.As(err, &p) {
		p = problem.New(api.Invalid, "%s: %w", quote(d.path), err)
	}
	d.problems = append(d.problems, p)
}

// chosen are the names of the files that tool reads, in the order in which it
// merges them. OpenTofu prefers main.tofu to main.tf; Terraform does not know
// main.tofu (docs/scan.md, rule 6).
func chosen(names []string, tool string) []string {
	var files, overrides []string
	for _, name := range names {
		ext := extension(name)
		base := strings.TrimSuffix(name, ext)
		switch {
		case !isConfiguration(name), tool == "terraform" && strings.HasPrefix(ext, ".tofu"):
			continue
		case tool != "terraform" && ext == ".tf" && slices.Contains(names, base+".tofu"),
			tool != "terraform" && ext == ".tf.json" && slices.Contains(names, base+".tofu.json"):
			continue
		}
		if base == "override" || strings.HasSuffix(base, "_override") {
			overrides = append(overrides, name)
		} else {
			files = append(files, name)
		}
	}
	return append(files, overrides...)
}

func (d *directory) load(data []byte, name string) {
	body, diags := parse(data, name)
	d.note(diags)
	if body != nil {
		d.merge(body, isOverride(name))
	}
}

func isOverride(name string) bool {
	base := strings.TrimSuffix(path.Base(name), extension(name))
	return base == "override" || strings.HasSuffix(base, "_override")
}

// errorsMax bounds what is told of one file: one that is no configuration at all
// has an error at every byte.
const errorsMax = 10

// note keeps the first errors with their position.
func (d *directory) note(diags hcl.Diagnostics) {
	diags = slices.DeleteFunc(slices.Clone(diags), func(d *hcl.Diagnostic) bool { return d.Severity != hcl.DiagError })
	for i, diag := range diags {
		if i == errorsMax {
			d.problems = append(d.problems, problem.New(api.Invalid, "%s: %d more errors", where(diag, d.path), len(diags)-i))
			return
		}
		text := strings.TrimSuffix(diag.Summary, ".")
		if diag.Detail != "" {
			text += ": " + strings.Join(strings.Fields(diag.Detail), " ")
		}
		d.problems = append(d.problems, problem.New(api.Invalid, "%s: %s", where(diag, d.path), text))
	}
}

// where is the position of an error, or the directory that it is in.
func where(diag *hcl.Diagnostic, dir string) string {
	if diag.Subject == nil {
		return quote(dir)
	}
	return position(*diag.Subject)
}

// position is file:line:column, relative to the root.
func position(r hcl.Range) string {
	return fmt.Sprintf("%s:%d:%d", quote(r.Filename), r.Start.Line, r.Start.Column)
}

// merge adds what a file says; what an override file says replaces it.
func (d *directory) merge(body hcl.Body, override bool) {
	d.resources = d.resources || hasResources(body)
	content, _, diags := body.PartialContent(rootSchema)
	d.note(diags)
	for _, block := range content.Blocks {
		switch block.Type {
		case "terraform":
			d.mergeTerraform(block.Body)
		case "locals":
			attrs, _ := block.Body.JustAttributes()
			for name, attr := range attrs {
				d.locals[name] = attr.Expr
			}
		case "variable":
			v := d.variables[block.Labels[0]]
			v.blocks = append(v.blocks, block.Body)
			d.variables[block.Labels[0]] = v
		case "module":
			d.mergeCall(block, override)
		case "provider":
			if block.Labels[0] == "tfe" {
				attrs := attributes(block.Body, cloudSchema)
				if attrs["alias"] == nil {
					d.cloud = attrs
				}
			}
		case "data", "ephemeral":
			d.mergeRead(block, override)
		case "check": // it may have a data source of its own
			inside, _, _ := block.Body.PartialContent(checkSchema)
			for _, data := range inside.Blocks {
				d.mergeRead(data, override)
			}
		}
	}
}

// hasResources reports whether a file declares a resource, well or not.
func hasResources(body hcl.Body) bool {
	if native, ok := body.(*hclsyntax.Body); ok {
		return slices.ContainsFunc(native.Blocks, func(b *hclsyntax.Block) bool { return b.Type == "resource" })
	}
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "resource"}}})
	return content != nil && len(content.Blocks) > 0
}

func (d *directory) mergeTerraform(body hcl.Body) {
	content, _, diags := body.PartialContent(terraformSchema)
	d.note(diags)
	for _, block := range content.Blocks {
		kind := "cloud"
		if block.Type == "backend" {
			kind = block.Labels[0]
		}
		d.backend = &backend{kind: kind, said: identifies(block.Body), at: block.DefRange}
	}
}

func (d *directory) mergeCall(block *hcl.Block, override bool) {
	attrs := attributes(block.Body, moduleSchema)
	call := &moduleCall{name: block.Labels[0], source: attrs["source"], version: attrs["version"], at: block.DefRange}
	i := slices.IndexFunc(d.calls, func(c *moduleCall) bool { return c.name == call.name })
	if !override || i < 0 {
		d.calls = append(d.calls, call)
		return
	}
	old := d.calls[i]
	if call.source != nil {
		old.source, old.version = call.source, nil
	}
	if call.version != nil {
		old.version = call.version
	}
}

func (d *directory) mergeRead(block *hcl.Block, override bool) {
	if block.Labels[0] != "terraform_remote_state" && block.Labels[0] != "tfe_outputs" {
		return
	}
	attrs := attributes(block.Body, readSchema)
	r := &read{block: block.Type, kind: block.Labels[0], name: block.Labels[1], at: block.DefRange}
	i := slices.IndexFunc(d.reads, func(o *read) bool { return o.kind == r.kind && o.name == r.name })
	if override && i >= 0 {
		r = d.reads[i]
	} else {
		d.reads = append(d.reads, r)
	}
	for name, field := range map[string]*hcl.Expression{
		"backend": &r.backend, "config": &r.config, "workspace": &r.workspace,
		"organization": &r.organization, "for_each": &r.forEach, "defaults": &r.defaults,
	} {
		if attrs[name] != nil {
			*field = attrs[name]
		}
	}
}

func attributes(body hcl.Body, schema *hcl.BodySchema) map[string]hcl.Expression {
	content, _, _ := body.PartialContent(schema)
	all := map[string]hcl.Expression{}
	if content != nil {
		for name, attr := range content.Attributes {
			all[name] = attr.Expr
		}
	}
	return all
}
