// Package settings decides what holds for a stack: it reads assize.yaml and the
// .assize.yaml of a directory, strictly, merges them with the entry of an
// instance, and renders templates (seed 004, "Configuration"; DESIGN 5.4;
// docs/configuration.md). It is pure: who calls it has read the files, and it
// must not know what lies in a directory beyond the names it is told.
package settings

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/assize-iac/assize/internal/settings/template"
)

// A Mode is what the tool is run for.
type Mode string

const (
	Plan  Mode = "plan"
	Apply Mode = "apply"
	Drift Mode = "drift"
)

// Effective is everything that holds for one stack, merged and rendered.
type Effective struct {
	Path, Instance string
	Workspace      string // "" selects none
	Environment    string // never empty
	Tool           string // tofu or terraform; "" is the one that is found
	ToolVersion    string
	BackendConfig  []string // name=value, or a file relative to the root
	VarFiles       []string // relative to the stack's directory
	Env            map[string]PerMode
	DependsOn      []string
	IgnoreInferred []string
	PlanOutput     string // full or summary
	AllowedTeams   []string

	// EnvironmentConfigured says that a file chose the environment, and not the
	// instance's name.
	EnvironmentConfigured bool
	// ExtraBackendConfig goes to init after BackendConfig: it is that of the
	// caller's environment, and not of the stack.
	ExtraBackendConfig []string
	// Origins say where each value came from, by its key (tool, env.NAME): of a
	// list, one for each entry; of a value, one. What is not listed is a default.
	Origins map[string][]string
}

// PerMode is a value for each mode; nil leaves the variable as it is.
type PerMode struct {
	Plan, Apply, Drift *string
}

// For returns the value for a mode.
func (p PerMode) For(mode Mode) *string {
	switch mode {
	case Plan:
		return p.Plan
	case Apply:
		return p.Apply
	case Drift:
		return p.Drift
	}
	return nil
}

// EnvFor returns the variables that are set for a mode.
func (e Effective) EnvFor(mode Mode) map[string]string {
	env := map[string]string{}
	for name, value := range e.Env {
		if v := value.For(mode); v != nil {
			env[name] = *v
		}
	}
	return env
}

// A Place is where a value stands. The zero Place is nowhere: it is the place of
// a default.
type Place struct {
	File         string // relative to the root
	Line, Column int    // from 1
}

// String is file:line, or default.
func (p Place) String() string {
	if p == (Place{}) {
		return "default"
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Placed is a value and its place.
type Placed[T any] struct {
	Value T
	At    Place
}

// A Text is a string as it was written: where it may be a template, not yet
// rendered.
type Text struct {
	Value    string
	At       Place
	template template.Template // of Value, where the key may have one
}

// instanceMax bounds the name of an instance, in bytes.
const instanceMax = 64

var instanceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// WrongInstance says why a name is none for an instance, or "" (seed 004,
// "Identity"; docs/configuration.md, rule 9). default is refused in any letter
// case, because environments are known by the name and ignore case.
func WrongInstance(name string) string {
	switch {
	case name == "":
		return "an instance has no name"
	case strings.EqualFold(name, "default"):
		return fmt.Sprintf("no instance is called %q", name)
	case len(name) > instanceMax:
		return fmt.Sprintf("the instance's name has %d characters, at most %d are allowed", len(name), instanceMax)
	case !instanceName.MatchString(name):
		return fmt.Sprintf("%q is no name of an instance: a letter or digit, then letters, digits, dots, dashes and underscores", name)
	}
	return ""
}

// secretName matches the names of variables and of attributes whose value is
// likely a secret. Too many are better than one too few: it hides from a report
// and from what a tool prints, and changes nothing else.
var secretName = regexp.MustCompile(`(?i)secret|token|passw|passphrase|api_?key|access_?key|private_?key|credential`)

// discreet keeps the text of a template that makes a secret out of a complaint
// about it.
func discreet(name, text, why string) string {
	attribute, _, ok := strings.Cut(text, "=")
	if IsSecret(name) || ok && IsSecret(attribute) {
		return "the template is wrong; why would show a part of it, and it is called like a secret"
	}
	return why
}

// IsSecret reports whether a name looks like that of a secret.
func IsSecret(name string) bool { return secretName.MatchString(name) }
