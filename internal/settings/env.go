package settings

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/assize-iac/assize/internal/settings/shape"
	"github.com/assize-iac/assize/internal/strict"
)

// A Variable is the value of an environment variable at one level: one text for
// every mode, or one for each that is named. nil leaves the variable as it is.
type Variable struct {
	Plan, Apply, Drift *Text
	At                 Place
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are the beginnings of names that are not for files to set: they are
// what Assize and the CI service say of themselves.
var reserved = []string{"ASSIZE_", "GITHUB_", "ACTIONS_", "RUNNER_"}

// wrongVariable says why a name cannot be set (docs/configuration.md, rule 14).
func wrongVariable(name string) string {
	if !variableName.MatchString(name) {
		return fmt.Sprintf("%q is no name of a variable", strict.Cut(name))
	}
	upper := strings.ToUpper(name)
	for _, prefix := range reserved {
		if strings.HasPrefix(upper, prefix) {
			return fmt.Sprintf("%s is reserved: it begins with %s", name, prefix)
		}
	}
	if upper == "PATH" || upper == "HOME" {
		return name + " is reserved"
	}
	return ""
}

func (r *reader) env() map[string]Variable {
	r.shape.Set("env", shape.Variables(variableName.String(), string(Plan), string(Apply), string(Drift)))
	env := map[string]Variable{}
	for _, m := range r.members("env") {
		name := m.Key.Text
		if wrong := wrongVariable(name); wrong != "" {
			r.Fault(m.Key, "env: %s", wrong)
		}
		env[name] = r.variable("env."+strict.Cut(name), m)
	}
	return env
}

func (r *reader) variable(called string, m strict.Member) Variable {
	v := Variable{At: r.place(m.Key)}
	if m.Value.Kind != strict.Object {
		t := r.value(called, m.Value)
		v.Plan, v.Apply, v.Drift = t, t, t
		return v
	}
	modes := newReader(r.Complaints, r.File, r.path(called), m.Value)
	modes.Fields([]string{string(Plan), string(Apply), string(Drift)})
	for mode, to := range map[Mode]**Text{Plan: &v.Plan, Apply: &v.Apply, Drift: &v.Drift} {
		if n, ok := modes.Got[string(mode)]; ok {
			*to = r.value(called+"."+string(mode), n)
		}
	}
	return v
}

// value reads one value, which may be empty and may be a template. No complaint
// repeats it.
func (r *reader) value(called string, n strict.Node) *Text {
	t := r.text(n)
	if n.Kind != strict.Text {
		r.Fault(n, "%s is %s, want a string%s", called, n.Kind, inQuotes(n))
	} else if wrong := t.parse(nil); wrong != "" {
		r.Fault(n, "%s: %s", called, discreet(called, n.Text, wrong))
	}
	return &t
}
