package plan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/problem"
)

func decodeAll(all []planjson.Change) ([]Change, error) {
	out := make([]Change, 0, len(all))
	for i := range all {
		c, err := decodeChange(&all[i])
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// decodeChange reads one element of resource_changes, wherever such elements
// stand.
func decodeChange(e *planjson.Change) (Change, error) {
	if e.Address == "" {
		return Change{}, problem.New(api.Invalid, "the plan is malformed: a change without an address").WithHint(planjson.Hint)
	}
	d := &e.Change
	c := Change{
		Address: e.Address, PreviousAddress: e.PreviousAddress, Deposed: e.Deposed, Module: e.ModuleAddress,
		Mode: e.Mode, Type: e.Type, Name: e.Name, Index: e.Index, Provider: e.ProviderName,
		Actions: d.Actions, Reason: e.ActionReason, Importing: d.Importing,
		Before: d.Before, After: d.After, AfterUnknown: d.AfterUnknown,
		BeforeSensitive: d.BeforeSensitive, AfterSensitive: d.AfterSensitive,
	}
	for _, steps := range d.ReplacePaths {
		c.ReplacePaths = append(c.ReplacePaths, pathOf(steps).String())
	}
	c.fillIn()
	if !slices.Contains([]string{"managed", "data", "ephemeral"}, c.Mode) {
		// A rule that selects by mode would pass over it.
		return Change{}, problem.New(api.Invalid, "%s has mode %q, which is none that a plan has", nameOf(c.Address, c.Deposed), c.Mode).
			WithHint(planjson.Hint)
	}
	var err error
	if c.Action, err = action(d.Actions, c.Mode, nameOf(c.Address, c.Deposed)); err != nil {
		return Change{}, err
	}
	return c, c.wellShaped()
}

// wellShaped refuses attributes that are no object: every path would be missing
// in them, and a rule says nothing of what is missing.
func (c *Change) wellShaped() error {
	for i, v := range []any{c.Before, c.After} {
		if _, isObject := v.(map[string]any); v != nil && !isObject {
			return problem.New(api.Invalid, "%s has attributes, %s, that are neither an object nor null",
				nameOf(c.Address, c.Deposed), []string{"before", "after"}[i]).WithHint("no tool writes such a plan; %s", planjson.Hint)
		}
	}
	return nil
}

func decodeOutput(name string, d *planjson.Delta) (Output, error) {
	act, err := action(d.Actions, "", "output "+name)
	return Output{
		Name: name, Action: act, Before: d.Before, After: d.After, AfterUnknown: d.AfterUnknown,
		BeforeSensitive: d.BeforeSensitive, AfterSensitive: d.AfterSensitive,
	}, err
}

// action knows the tuples of both tools. There is no default: another tuple is
// something that no rule can judge (docs/policy.md, rule 9).
func action(tuple []string, mode, of string) (Action, error) {
	words := strings.Join(tuple, ",")
	switch words {
	case "no-op", "create", "read", "update", "delete", "forget":
		if len(tuple) == 1 {
			return Action(words), nil
		}
	case "create,forget", "forget,create":
		if len(tuple) == 2 {
			return Action(words), nil
		}
	case "delete,create", "create,delete":
		if len(tuple) == 2 {
			return Replace, nil
		}
	case "open", "Open": // OpenTofu 1.11 lists the ephemeral resources that it opens
		if mode == "ephemeral" {
			return Read, nil
		}
	}
	return "", problem.New(api.Invalid, "the plan does %q to %s, which is no known action", tuple, of).
		WithHint("this version knows the actions of OpenTofu up to 1.12 and of Terraform up to 1.14")
}

// addressForm takes an address apart: its module, its mode, its type and its
// name. An instance key may hold dots, brackets and escaped quotes, which is
// why splitting at dots would blame the wrong resource.
var addressForm = regexp.MustCompile(`^((?:module\.[^.\[]+(?:\[(?:"(?:[^"\\]|\\.)*"|\d+)\])?\.)*)(?:(data|ephemeral)\.)?([^.\[]+)\.([^.\[]+)`)

// fillIn derives from the address what old plans and redacted ones leave out: a
// rule that selects by mode or type must not pass over a change for want of it.
func (c *Change) fillIn() {
	if c.Mode != "" && c.Type != "" && c.Name != "" {
		return
	}
	found := addressForm.FindStringSubmatch(c.Address)
	if found == nil {
		found = make([]string, 5)
	}
	for i, field := range []*string{&c.Module, &c.Mode, &c.Type, &c.Name} {
		if *field == "" {
			*field = strings.TrimSuffix(found[i+1], ".")
		}
	}
	if c.Mode == "" {
		c.Mode = "managed"
	}
}

// pathOf turns a path as the tools write it, names and indices, into ours.
func pathOf(steps []any) Path {
	var path Path
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			path = append(path, Step{Key: s})
		case json.Number:
			i, _ := s.Int64()
			path = append(path, Step{Index: int(i), Kind: Index})
		}
	}
	return path
}

// nameOf is what errors call a change.
func nameOf(address, deposed string) string {
	if deposed == "" {
		return address
	}
	return fmt.Sprintf("%s (deposed %s)", address, deposed)
}
