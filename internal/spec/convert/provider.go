package convert

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/spec/convert/cuetext"
	"github.com/assize-iac/assize/internal/spec/convert/native"
	"github.com/assize-iac/assize/internal/spec/schema"
)

// A provider is one configuration of a provider, as a field of the specification.
type provider struct {
	key    string // in the plan's configuration
	source string
	name   string // of the field, with its $
	pkg    string // that the import is known by
	config *native.ProviderConfig
	at     scope // whose references its expressions have
}

// packageName is what the package of a provider is called (docs/spec.md, rule 4).
func packageName(source string) string { return strings.ReplaceAll(path.Base(source), "-", "_") }

// provide finds the configurations that the items are built from.
func (c *converter) provide() {
	byKey := map[string]*provider{}
	for _, i := range c.items {
		p := c.configuration(i)
		if byKey[p.key] == nil {
			byKey[p.key] = p
		}
		i.provider = byKey[p.key]
	}
	for _, k := range slices.Sorted(maps.Keys(byKey)) {
		c.providers = append(c.providers, byKey[k])
	}
	packages, fields := map[string]string{}, map[string]bool{}
	for _, p := range c.providers {
		if packages[p.source] == "" {
			name := packageName(p.source)
			for c.named(name) || slices.Contains(slices.Collect(maps.Values(packages)), name) {
				name += "_"
			}
			packages[p.source] = name
		}
		p.pkg = packages[p.source]
		p.name = "$" + strings.ReplaceAll(cmp.Or(p.config.Alias, packageName(p.source)), "-", "_")
		if fields[p.name] {
			p.name = "$" + packageName(p.source) + "_" + strings.TrimPrefix(p.name, "$")
		}
		fields[p.name] = true
	}
}

// configuration is that of an item. What a module configures itself is another one;
// what it is given is that of the root.
func (c *converter) configuration(i *item) *provider {
	k := i.config.Provider
	config := c.doc.Configuration.Providers[k]
	p := &provider{key: k, source: i.Provider, config: config, at: i.at}
	if module, own, ok := strings.Cut(k, ":"); ok && (config == nil || len(config.Expressions) == 0 && config.Alias == "") {
		p.key, p.config = own, c.doc.Configuration.Providers[own]
	} else if ok {
		copied := *config
		copied.Alias = strings.NewReplacer("module.", "", ".", "_").Replace(module) + "_" + cmp.Or(config.Alias, path.Base(i.Provider))
		p.config = &copied
	}
	if p.config == nil {
		p.config = &native.ProviderConfig{}
	}
	if !strings.Contains(p.key, ":") {
		p.at = scope{module: c.doc.Configuration.Root}
	}
	p.key = i.Provider + " " + p.key // two modules may call different ones alike
	return p
}

// text is the field of a provider.
func (c *converter) providerText(p *provider) string {
	var fields []string
	if p.config.Version != "" {
		fields = append(fields, "$version: "+cuetext.Quoted(p.config.Version))
	}
	s := c.stack.Providers[p.source]
	for _, name := range slices.Sorted(maps.Keys(p.config.Expressions)) {
		if text := c.setting(p, name, s); text != "" {
			c.nested[name] = true
			fields = append(fields, text)
		}
	}
	text := p.name + ": " + p.pkg + ".#Provider"
	if len(fields) > 0 {
		text += " & " + cuetext.Struct(fields)
	}
	return text
}

// setting is one of a provider's: no state has its value, so that only a constant can
// be told, and a reference that is nothing else.
func (c *converter) setting(p *provider, name string, s *schema.Provider) string {
	address := "provider." + path.Base(p.source)
	if p.config.Alias != "" {
		address += "." + p.config.Alias
	}
	a := s.Config.Block.Attributes[name]
	e := native.ExpressionOf(p.config.Expressions[name])
	hint := "write it: " + p.name + ": " + cuetext.Field(name) + ": ..."
	switch {
	case a == nil:
		c.leave(address, hint, "the block %s is not written", name)
	case a.Sensitive || c.stack.Secret(name):
		c.leave(address, "leave it to the environment, or write it in a file that is not committed: "+p.name+": "+cuetext.Field(name)+": ...", "%s may be a secret and is not written", name)
	case e.IsConstant:
		w := &writing{reach: &reach{}, c: c}
		return cuetext.Field(name) + ": " + w.write(e.Constant, nil)
	default:
		r := c.reach(e.References, p.at, nil)
		exact := c.sources[p.at.static()] != nil && c.sources[p.at.static()].Providers[strings.TrimPrefix(strings.TrimPrefix(address, "provider."), p.at.static())+"."+name]
		if exact && len(r.all) == 1 {
			w := &writing{reach: r, c: c}
			return cuetext.Field(name) + ": " + w.take(r.all[0])
		}
		c.leave(address, hint, "%s is computed from %s, and only the tool knows what it is", name, strings.Join(native.Longest(e.References), ", "))
	}
	return ""
}
