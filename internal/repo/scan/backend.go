package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/assize-iac/assize/internal/stack"
)

// A place is what a backend block, its partial configuration, or the config of
// terraform_remote_state says about where a state is kept.
type place struct {
	kind    string            // s3, local, ...; cloud is remote
	values  map[string]string // by attribute; those of workspaces as workspaces.name
	unknown map[string]bool   // set, but not to a constant
}

// identifying are the attributes that tell one state from another.
var identifying = []string{
	"address", "bucket", "config_context", "conn_str", "container_name", "datacenter", "host", "hostname", "key",
	"namespace", "organization", "path", "prefix", "schema_name", "secret_suffix", "storage_account_name",
	"table_name", "workspace_dir", "workspace_key_prefix",
}

// identifyingSchema is their form in a block.
var identifyingSchema = func() *hcl.BodySchema {
	schema := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "workspaces"}}}
	for _, name := range identifying {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name})
	}
	return schema
}()

func newPlace(kind string) place {
	if kind == "cloud" {
		kind = "remote" // the same state, said with another word
	}
	return place{kind: kind, values: map[string]string{}, unknown: map[string]bool{}}
}

func (p place) set(name, text string, ok bool) {
	delete(p.unknown, name)
	delete(p.values, name)
	if ok {
		p.values[name] = text
	} else {
		p.unknown[name] = true
	}
}

// A said is what a body says of a place: a backend block, or a file of
// backend_config.
type said struct {
	attrs      map[string]hcl.Expression
	workspaces []map[string]hcl.Expression
}

// identifies picks out what tells one state from another.
func identifies(body hcl.Body) said {
	content, _, _ := body.PartialContent(identifyingSchema) // a wrong type is the tool's to report
	if content == nil {
		return said{}
	}
	all := said{attrs: map[string]hcl.Expression{}}
	for name, attr := range content.Attributes {
		all.attrs[name] = attr.Expr
	}
	for _, block := range content.Blocks {
		inside := map[string]hcl.Expression{}
		attrs, _ := block.Body.JustAttributes()
		for name, attr := range attrs {
			inside[name] = attr.Expr
		}
		all.workspaces = append(all.workspaces, inside)
	}
	return all
}

// overlay adds what a body says.
func (p place) overlay(all said, s scope) {
	for name, expr := range all.attrs {
		text, ok := s.text(expr)
		p.set(name, text, ok)
	}
	for _, block := range all.workspaces {
		for name, expr := range block {
			text, ok := s.text(expr)
			p.set("workspaces."+name, text, ok || name == "tags")
		}
	}
}

// overlayObject adds what the config of terraform_remote_state says, item by
// item: a role that is not constant does not hide the key.
func (p place) overlayObject(expr hcl.Expression, s scope) {
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() {
		v, ok := s.value(expr)
		if !ok || !v.CanIterateElements() {
			for _, name := range identifying {
				p.set(name, "", false)
			}
			return
		}
		for name, item := range members(v) {
			p.setValue(name, item, true)
		}
		return
	}
	for _, pair := range pairs {
		name, ok := s.text(pair.Key)
		if !ok {
			continue
		}
		if slices.Contains(identifying, name) || name == "workspaces" {
			v, ok := s.value(pair.Value)
			p.setValue(name, v, ok)
		}
	}
}

// setValue sets an attribute, or workspaces, which is an object or a list of one.
func (p place) setValue(name string, v cty.Value, ok bool) {
	if name != "workspaces" {
		text := ""
		if ok {
			text, ok = asText(v)
		}
		p.set(name, text, ok)
		return
	}
	if ok && (v.Type().IsTupleType() || v.Type().IsListType() || v.Type().IsSetType()) && v.LengthInt() == 1 {
		it := v.ElementIterator()
		it.Next()
		_, v = it.Element()
	}
	if !ok || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		p.set("workspaces.name", "", false)
		return
	}
	for key, item := range members(v) {
		text, ok := asText(item)
		p.set("workspaces."+key, text, ok)
	}
}

// members are the elements of an object or map.
func members(v cty.Value) map[string]cty.Value {
	all := map[string]cty.Value{}
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return all
	}
	for it := v.ElementIterator(); it.Next(); {
		key, item := it.Element()
		if !item.IsNull() {
			all[key.AsString()] = item
		}
	}
	return all
}

// An identity reads attributes; ok turns false for good when one that is needed
// is not known.
type identity struct {
	place
	ok bool
}

func (i *identity) need(name string) string {
	text := i.or(name, "")
	if text == "" {
		i.ok = false
	}
	return text
}

func (i *identity) or(name, fallback string) string {
	if i.unknown[name] {
		i.ok = false
	}
	if text := i.values[name]; text != "" {
		return text
	}
	return fallback
}

// state is where the state of a workspace is kept, as the backends of the tools
// lay it out; the zero value when something that it depends on is not known. dir
// is the directory that relative paths start from (docs/scan.md, rules 11 to 14).
func (p place) state(workspace, dir string) stack.State {
	if workspace == "" {
		workspace = "default"
	}
	i := &identity{p, true}
	layout, known := layouts[p.kind]
	if !known {
		return stack.State{}
	}
	id := layout(i, workspace, dir)
	if !i.ok {
		return stack.State{}
	}
	return stack.State{Type: p.kind, ID: id}
}

// layouts say for each backend what names a state.
var layouts = map[string]func(i *identity, workspace, dir string) string{
	"s3": func(i *identity, workspace, _ string) string {
		key := i.need("key")
		if workspace != "default" {
			key = i.or("workspace_key_prefix", "env:") + "/" + workspace + "/" + key
		}
		return i.need("bucket") + "/" + key
	},
	"gcs": func(i *identity, workspace, _ string) string {
		return i.need("bucket") + "/" + path.Join(strings.TrimLeft(i.or("prefix", ""), "/"), workspace+".tfstate")
	},
	"azurerm": func(i *identity, workspace, _ string) string {
		key := i.need("key")
		if workspace != "default" {
			key += "env:" + workspace
		}
		return i.need("storage_account_name") + "/" + i.need("container_name") + "/" + key
	},
	"local": func(i *identity, workspace, dir string) string {
		name := i.or("path", "terraform.tfstate")
		if workspace != "default" {
			name = path.Join(i.or("workspace_dir", "terraform.tfstate.d"), workspace, "terraform.tfstate")
		}
		if path.IsAbs(name) {
			return path.Clean(name)
		}
		return path.Join(dir, name)
	},
	"http": func(i *identity, workspace, _ string) string {
		i.ok = i.ok && workspace == "default" // it has no workspaces
		return address(i.need("address"))
	},
	"pg": func(i *identity, workspace, _ string) string {
		schema := i.or("schema_name", "terraform_remote_state")
		return database(i.or("conn_str", "")) + "/" + schema + "." + i.or("table_name", "states") + "/" + workspace
	},
	"consul": func(i *identity, workspace, _ string) string {
		key := i.need("path")
		if workspace != "default" {
			key += "-env:" + workspace
		}
		return address(i.or("address", "")) + "/" + i.or("datacenter", "") + "/" + key
	},
	"kubernetes": func(i *identity, workspace, _ string) string {
		cluster := i.or("config_context", i.or("host", ""))
		return cluster + "/" + i.or("namespace", "default") + "/tfstate-" + workspace + "-" + i.need("secret_suffix")
	},
	"remote": func(i *identity, workspace, _ string) string {
		name := i.or("workspaces.name", "")
		if name == "" { // a prefix, or tags: the workspace that is selected says which
			name = i.or("workspaces.prefix", "") + workspace
			i.ok = i.ok && workspace != "default"
		}
		return i.or("hostname", "app.terraform.io") + "/" + i.need("organization") + "/" + name
	},
}

// address is a URL without credentials; the values of its query, which may be
// some, count by their digest.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" && u.User == nil && u.RawQuery == "" {
		base, query, ok := strings.Cut(text, "?")
		if at := strings.LastIndex(base, "@"); at >= 0 {
			base = base[at+1:]
		}
		if ok {
			base += "?" + digest(query)
		}
		return base
	}
	u.User, u.Fragment = nil, ""
	if u.RawQuery != "" {
		u.RawQuery = digest(u.RawQuery)
	}
	return u.String()
}

// database is the host and name of a PostgreSQL connection string in either of
// its forms, without the rest, which holds the password.
func database(conn string) string {
	host, port, name := "", "5432", ""
	if u, err := url.Parse(conn); err == nil && strings.Contains(conn, "://") {
		host, name = u.Hostname(), strings.Trim(u.Path, "/")
		if u.Port() != "" {
			port = u.Port()
		}
	} else {
		for _, field := range strings.Fields(conn) {
			switch key, value, _ := strings.Cut(field, "="); key {
			case "host":
				host = strings.Trim(value, "'")
			case "port":
				port = strings.Trim(value, "'")
			case "dbname":
				name = strings.Trim(value, "'")
			}
		}
	}
	return host + ":" + port + "/" + name
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:6])
}
