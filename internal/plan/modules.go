package plan

import (
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/plan/secret"
)

// moduleCalls lists every module block, nested ones too, by address. Addresses
// have no instance keys, because configuration has none (docs/policy.md,
// rule 14).
func moduleCalls(root *planjson.Module) []ModuleCall {
	var calls []ModuleCall
	var visit func(prefix string, m *planjson.Module)
	visit = func(prefix string, m *planjson.Module) {
		for name, c := range m.Calls {
			address := prefix + "module." + name
			calls = append(calls, ModuleCall{Address: address, Source: c.Source, Version: c.Version})
			visit(address+".", &c.Module)
		}
	}
	visit("", root)
	slices.SortFunc(calls, func(a, b ModuleCall) int { return strings.Compare(a.Address, b.Address) })
	return calls
}

// providers maps full names to version constraints. Aliases repeat a name; the
// constraint stands with one of them.
func providers(all map[string]planjson.Provider) map[string]string {
	out := map[string]string{}
	for _, p := range all {
		if p.FullName != "" {
			out[p.FullName] = max(p.Version, out[p.FullName])
		}
	}
	return out
}

// declared takes what sensitive and ephemeral variables and outputs hold:
// literals and defaults, which stand in the plan in clear, the values given to
// the root module, and the literals among the arguments of another one.
func declared(c secret.Collector, values map[string]any, m *planjson.Module) {
	for name, v := range m.Variables {
		if v.Sensitive || v.Ephemeral {
			c.All(values[name])
			c.All(v.Default)
		}
	}
	for _, o := range m.Outputs {
		if o.Sensitive || o.Ephemeral {
			c.All(literal(o.Expression))
		}
	}
	for _, call := range m.Calls {
		literals := map[string]any{}
		for name, expression := range call.Arguments {
			literals[name] = literal(expression)
		}
		declared(c, literals, &call.Module)
	}
}

// literal is what an expression of the configuration is, where that is written
// there in full; else nil.
func literal(expression any) any {
	e, _ := expression.(map[string]any)
	return e["constant_value"]
}
