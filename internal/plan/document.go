package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan/mark"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/spec/naming"
)

// DocumentJSON is the document as one line of JSON, the bytes that a CUE
// policy judges: fields in the order of the type, keys of values sorted, so
// that one plan has one text.
func (p *Plan) DocumentJSON(labels Labels) []byte {
	return planjson.Encode(p.document(labels, unmasked))
}

// MaskedJSON is the document for people, logs and pipelines: where it holds a
// secret, by mark or by value, stands {"$sensitive": true}. No policy judges
// it, for what is masked conflicts with every constraint.
func (p *Plan) MaskedJSON(labels Labels) []byte {
	d := p.document(labels, p.mask)
	p.maskNames(d.Changes, p.Changes)
	p.maskNames(d.Deferred, p.Deferred)
	d.Targets, d.Replace = mapped(d.Targets, p.RedactAddress), mapped(d.Replace, p.RedactAddress)
	for i := range d.Modules {
		d.Modules[i].Source = p.Redact(d.Modules[i].Source)
	}
	for i := range d.Checks {
		d.Checks[i].Addr = p.RedactAddress(d.Checks[i].Addr)
	}
	return planjson.Encode(d)
}

// maskNames removes secrets from what names the parts of changes: addresses,
// instance keys and paths.
func (p *Plan) maskNames(out []api.Change, changes []Change) {
	for i := range out {
		c := &out[i]
		c.Addr, c.PreviousAddr, c.Module = p.RedactAddress(c.Addr), p.RedactAddress(c.PreviousAddr), p.RedactAddress(c.Module)
		if key, ok := c.Index.(string); ok && p.secrets.InKey(key) {
			c.Index = map[string]any{"$sensitive": true}
		}
		c.ReplacePaths = p.ShownReplacePaths(&changes[i])
		c.Sensitive = mapped(c.Sensitive, p.Redact)
	}
}

func mapped(texts []string, f func(string) string) []string {
	var out []string
	for _, text := range texts {
		out = append(out, f(text))
	}
	return out
}

// A view is what becomes of a value on its way into a document, given the
// plan's map of what is sensitive in it.
type view func(v, marks any) any

func unmasked(v, _ any) any { return v }

// mask replaces every secret of v.
func (p *Plan) mask(v, marks any) any { return p.secrets.Mask(v, marks) }

// Quote writes a value as JSON for a message.
func Quote(v any) string { return string(planjson.Encode(v)) }

func (p *Plan) document(labels Labels, see view) api.Document {
	d := api.Document{
		Format: api.DocumentFormat, Created: p.Created,
		Actor: labels.Actor, Reason: labels.Reason, GitRevision: labels.GitRevision, TraceID: labels.TraceID,
		Destroy: p.Flags.Destroy, Summary: p.Summary(), Stats: p.stats(),
		Changes: p.entries(p.Changes, see), Outputs: map[string]any{}, Hints: p.hints(), Providers: p.providerTable(),
		Complete: p.Complete, RefreshOnly: p.Flags.RefreshOnly, Targets: p.Flags.Targets, Replace: p.Flags.Replace,
		Deferred: p.entries(p.Deferred, see),
	}
	for _, o := range p.Outputs {
		if o.Action != Delete {
			d.Outputs[o.Name] = see(p.shown(merge(o.After, o.AfterUnknown), o.AfterSensitive), o.AfterSensitive)
		}
	}
	for _, m := range p.Modules {
		d.Modules = append(d.Modules, api.Module{Addr: m.Address, Source: m.Source, Version: m.Version})
	}
	for _, c := range p.Checks {
		checked := api.Checked{Addr: c.Address, Status: c.Status}
		for _, text := range c.Problems { // somebody's words, which may quote a secret
			checked.Problems = append(checked.Problems, p.Redact(text))
		}
		d.Checks = append(d.Checks, checked)
	}
	return d
}

// entries is never nil: the document of an empty plan has [] for changes.
func (p *Plan) entries(changes []Change, see view) []api.Change {
	out := make([]api.Change, len(changes))
	for i := range changes {
		out[i] = p.entry(&changes[i], see)
	}
	return out
}

func (p *Plan) entry(c *Change, see view) api.Change {
	out := api.Change{
		Addr: p.called(c.Address), Mode: c.Mode, Type: c.Type, Name: c.Name, Action: string(c.Action),
		CreateBeforeDestroy: c.CreateBeforeDestroy(), PreviousAddr: p.called(c.PreviousAddress), Deposed: c.Deposed,
		Module: c.Module, Index: c.Index, Provider: c.Provider, Reason: c.Reason,
		Importing: see(c.Importing, nil), ReplacePaths: c.ReplacePaths,
	}
	if c.Action == NoOp {
		return out // a policy judges what a change does, not what is there (docs/policy.md, rule 29)
	}
	side, marks := c.After, c.AfterSensitive
	if c.Action == Delete || c.Action == Forget {
		side, marks = c.Before, c.BeforeSensitive
	} else {
		out.After = see(p.shown(merge(c.After, c.AfterUnknown), c.AfterSensitive), c.AfterSensitive)
	}
	if c.Action != Create {
		out.Before = see(p.shown(c.Before, c.BeforeSensitive), c.BeforeSensitive)
	}
	out.Sensitive = p.sensitivePaths(nil, side, marks, nil)
	return out
}

// called is what the document calls what has this address.
func (p *Plan) called(address string) string {
	if p.Flags.Specification && address != "" {
		return naming.Path(address)
	}
	return address
}

// sensitivePaths adds the paths at or below at that hold a secret, by the
// plan's map or by value. A container that is sensitive as a whole is one path.
func (p *Plan) sensitivePaths(at Path, v, marks any, paths []string) []string {
	if p.secrets.Empty() && !mark.Any(marks) {
		return paths
	}
	marks = mark.Fitted(marks, v)
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	switch {
	case marks == true, !isObject && !isList && p.HasSecret(v):
		return append(paths, at.String())
	case isObject:
		for _, k := range slices.Sorted(maps.Keys(object)) {
			s := Step{Key: k}
			paths = p.sensitivePaths(slices.Concat(at, Path{s}), object[k], below(marks, s), paths)
		}
	case isList:
		for i, e := range list {
			s := Step{Index: i, Kind: Index}
			paths = p.sensitivePaths(slices.Concat(at, Path{s}), e, below(marks, s), paths)
		}
	}
	return paths
}

// unknownMark stands in the document where a value is known only after apply.
// It is a struct, so that a policy that wants a string, a number or a list
// there conflicts with it.
func unknownMark() any { return map[string]any{"$unknown": true} }

// merge puts what is unknown into what is known. It shares with v what has no
// unknown part: values are never changed.
func merge(v, unknown any) any {
	if unknown == true {
		return unknownMark()
	}
	if !mark.Any(unknown) {
		return v
	}
	switch marks := unknown.(type) {
	case map[string]any:
		known, ok := v.(map[string]any)
		if !ok && v != nil {
			return unknownMark() // the two do not fit together: nothing is certain
		}
		out := maps.Clone(known)
		if out == nil {
			out = map[string]any{}
		}
		for k, hidden := range marks {
			if _, has := known[k]; has || mark.Any(hidden) {
				out[k] = merge(known[k], hidden)
			}
		}
		return out
	case []any:
		known, ok := v.([]any)
		if !ok && v != nil {
			return unknownMark()
		}
		out := make([]any, max(len(known), len(marks)))
		copy(out, known)
		for i, hidden := range marks {
			out[i] = merge(out[i], hidden)
		}
		return out
	}
	return v
}

// shown puts the unknown mark where v has a null that is none (see
// [Plan.withheld]), as merge does for what is known after apply. A document
// that has neither before nor after stays so.
func (p *Plan) shown(v, marks any) any {
	if p.FormatVersion != "0.1" {
		return v
	}
	each := func(e any, s Step) any {
		if m := below(mark.Fitted(marks, v), s); !p.withheld(e, m) {
			return p.shown(e, m)
		}
		return unknownMark()
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = each(e, Step{Key: k})
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = each(e, Step{Index: i, Kind: Index})
		}
		return out
	}
	return v
}

// hints says in words what the plan cannot show: each is a reason why a policy
// that passes may have seen less than there is.
func (p *Plan) hints() []string {
	hints := []string{}
	add := func(when bool, format string, args ...any) {
		if when {
			hints = append(hints, fmt.Sprintf(format, args...))
		}
	}
	add(len(p.Flags.Targets) > 0, "made with -target: this is not the whole change")
	add(p.Flags.RefreshOnly, "made with -refresh-only: it changes records, not objects")
	add(p.Complete != nil && !*p.Complete, "the tool says that the plan is not complete: applying it leaves something to do")
	add(len(p.Deferred) > 0, "changes that are left for a later plan: %d", len(p.Deferred))
	add(len(p.Drifted) > 0, "objects that have changed since the last apply: %d", len(p.Drifted))
	add(p.FormatVersion == "0.1", "this plan's format marks no sensitive values of resources (Terraform before 0.15)")
	return hints
}

// providerTable lists the providers that the configuration names or a change
// uses, with the version constraint where one is known.
func (p *Plan) providerTable() map[string]any {
	table := map[string]any{}
	for _, c := range p.Changes {
		if c.Provider != "" {
			table[c.Provider] = map[string]any{}
		}
	}
	for name, version := range p.providers {
		entry := map[string]any{}
		if version != "" {
			entry["version_constraint"] = version
		}
		table[name] = entry
	}
	return table
}
