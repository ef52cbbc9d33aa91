package native

import "github.com/assize-iac/assize/internal/spec/schema"

// Prune leaves out of objects what the provider alone decides.
func Prune(v any, n *schema.Nesting) any {
	switch v := v.(type) {
	case []any:
		var out []any
		for _, e := range v {
			out = append(out, Prune(e, n))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			a := n.Attributes[name]
			switch {
			case a == nil && n.Mode == schema.Map:
				out[name] = Prune(e, &schema.Nesting{Attributes: n.Attributes, Mode: schema.Single})
			case a == nil || e == nil || a.Computed && !a.Optional:
			case a.Nesting != nil:
				out[name] = Prune(e, a.Nesting)
			default:
				out[name] = e
			}
		}
		return out
	}
	return v
}

// Flat is the objects in lists of lists of them.
func Flat(v any) []map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []any:
		var all []map[string]any
		for _, e := range v {
			all = append(all, Flat(e)...)
		}
		return all
	}
	return nil
}

// Empty reports whether nothing is set in any object.
func Empty(objects []map[string]any) bool {
	for _, o := range objects {
		for _, v := range o {
			if all, ok := v.([]any); v != nil && (!ok || len(all) > 0) {
				return false
			}
		}
	}
	return true
}

// Everything is expressions that set whatever an object has and a person could set.
func Everything(o map[string]any, b *schema.Block) map[string]any {
	all := map[string]any{}
	for name, v := range o {
		if a := b.Attributes[name]; v != nil && a != nil && !a.Computed {
			all[name] = map[string]any{}
		}
	}
	return all
}
