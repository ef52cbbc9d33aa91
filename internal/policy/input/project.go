package input

import (
	"maps"
	"slices"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/plan/mark"
)

// project names what a policy may see. What it does not name, variables,
// outputs, state and configuration among it, cannot get into the input.
func project(c Contract, p *plan.Plan, from Provenance) api.PolicyInput {
	subject := api.InputSubject{ID: from.Subject.ID, Metadata: maps.Clone(from.Subject.Metadata)}
	if subject.Metadata == nil {
		subject.Metadata = map[string]string{}
	}
	d := api.PolicyInput{
		Version: c.InputVersion, Run: api.InputRun{Kind: from.Kind}, Source: from.Source,
		ResourceChanges: make([]api.InputChange, len(p.Changes)),
	}
	if c.bare {
		d.Workspace = &subject
	} else {
		d.Stack, d.Plan = &subject, facts(p)
	}
	for i := range p.Changes {
		d.ResourceChanges[i] = projectChange(c, p, &p.Changes[i])
	}
	return d
}

// facts says whether the plan is the whole change. Lists are never null, for a
// policy that counts them would get no answer and pass.
func facts(p *plan.Plan) *api.InputPlan {
	return &api.InputPlan{
		Complete: p.Complete, Deferred: len(p.Deferred), Destroy: p.Flags.Destroy, RefreshOnly: p.Flags.RefreshOnly,
		Targets: append([]string{}, p.Flags.Targets...), Replace: append([]string{}, p.Flags.Replace...),
	}
}

// projectChange leaves addresses as they are: they name what is changed, and no
// tool lets a sensitive value into one. What the plan calls importing has an
// id, which may be a secret that nothing marks, so only the fact is told.
func projectChange(c Contract, p *plan.Plan, change *plan.Change) api.InputChange {
	r := redactor{p.HasSecret}
	out := api.InputChange{
		Address: change.Address, ProviderName: change.Provider,
		Change: api.InputDelta{Actions: slices.Clone(change.Actions)},
	}
	// OpenTofu 1.11 lists the ephemeral resources that it opens. That is a read
	// under another name, and the contract knows ten tuples.
	if change.Action == plan.Read {
		out.Change.Actions = []string{"read"}
	}
	out.Change.Before, out.Change.BeforeSensitive = r.attributes(change.Before, change.BeforeSensitive)
	out.Change.After, out.Change.AfterSensitive = r.attributes(change.After, change.AfterSensitive)
	if c.bare {
		return out
	}
	out.Deposed, out.PreviousAddress, out.ActionReason = change.Deposed, change.PreviousAddress, change.Reason
	out.Mode, out.Type, out.Name = change.Mode, change.Type, change.Name
	out.Importing = change.Importing != nil
	out.Change.AfterUnknown = r.outermost(change.AfterUnknown)
	return out
}

// A redactor removes what is secret from values, by mark and by value. It never
// changes what it is given: before and after may be one value. In doubt it
// removes too much, and says so in the map.
type redactor struct{ secret func(any) bool }

// attributes returns v without its secrets, and the map that says where they
// stood. The keys of v itself are the schema's and stay; keys below are data
// (docs/policy-input.md, rules 3 and 4).
func (r redactor) attributes(v, marks any) (any, any) {
	object, ok := v.(map[string]any)
	m, fits := marks.(map[string]any)
	switch {
	case v == nil && marks != true:
		return nil, r.outermost(marks)
	case !mark.Any(marks) && !r.secret(v): // nearly every change
		return v, r.outermost(marks)
	case ok && (fits || !mark.Any(marks)):
		return r.object(object, m, marks)
	default:
		return nil, true
	}
}

// value is attributes below the outermost keys. A map that marks something and
// does not have the shape of v, true above all, takes all of v.
func (r redactor) value(v, marks any) (any, any) {
	switch v := v.(type) {
	case nil:
		return nil, r.marks(marks)
	case map[string]any:
		m, fits := marks.(map[string]any)
		if !fits && mark.Any(marks) || r.keyed(v) || r.keyed(m) {
			return nil, true
		}
		return r.object(v, m, marks)
	case []any:
		l, fits := marks.([]any)
		if fits = fits && len(l) == len(v); !fits && mark.Any(marks) {
			return nil, true // sets have coarser marks: nobody knows whose they are
		} else if !fits {
			l = nil
		}
		return r.list(v, l, marks)
	}
	if mark.Any(marks) || r.secret(v) {
		return nil, true
	}
	return v, r.marks(marks)
}

// object does the members of v by those of m, which is nil where marks is no
// object. The map keeps what it has and gets an entry for each secret it missed.
func (r redactor) object(v, m map[string]any, marks any) (any, any) {
	values, found := make(map[string]any, len(v)), map[string]any{}
	for k, e := range m {
		if _, ok := v[k]; !ok {
			found[k] = r.marks(e) // it is unknown yet, and will be sensitive
		}
	}
	for k, e := range v {
		own, had := m[k]
		values[k], own = r.value(e, own)
		if had || mark.Any(own) {
			found[k] = own
		}
	}
	// A plan that says false for all of an object keeps its false.
	if m == nil && len(found) == 0 {
		return values, r.marks(marks)
	}
	return values, found
}

// list does the elements of v by those of l, which is nil where marks is no
// list of the same length.
func (r redactor) list(v, l []any, marks any) (any, any) {
	values, found := make([]any, len(v)), make([]any, len(v))
	for i, e := range v {
		var own any
		if l != nil {
			own = l[i]
		}
		values[i], found[i] = r.value(e, own)
	}
	if l == nil && !mark.Any(found) {
		return values, r.marks(marks)
	}
	return values, found
}

// outermost is marks for a map that belongs to a whole resource, whose keys
// are the schema's.
func (r redactor) outermost(marks any) any {
	m, ok := marks.(map[string]any)
	if !ok {
		return r.marks(marks)
	}
	out := make(map[string]any, len(m))
	for k, e := range m {
		out[k] = r.marks(e)
	}
	return out
}

// marks copies a map of marks where no value stands beside it: false for null,
// and true in place of an object whose keys would tell a secret.
func (r redactor) marks(marks any) any {
	switch m := marks.(type) {
	case nil:
		return false
	case []any:
		out := make([]any, len(m))
		for i, e := range m {
			out[i] = r.marks(e)
		}
		return out
	case map[string]any:
		if r.keyed(m) {
			return true
		}
		return r.outermost(m)
	}
	return marks
}

// keyed reports whether a key of m would tell a secret.
func (r redactor) keyed(m map[string]any) bool {
	for k := range m {
		if r.secret(k) {
			return true
		}
	}
	return false
}
