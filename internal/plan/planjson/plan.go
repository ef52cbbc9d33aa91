// Package planjson reads the JSON that `tofu show -json` and `terraform show
// -json` print for a plan: strictly, once, and with numbers as they are. It
// decides whether a text is such a plan at all. It must not know what a plan
// means: which actions there are, or what a policy may ask of it.
package planjson

// A Plan is a plan as the tools write it. What has no field here is skipped:
// both tools add keys within a major version, and promise that to ignore them
// is safe.
type Plan struct {
	FormatVersion string
	ToolVersion   string
	Timestamp     string
	Errored       bool
	Complete      *bool
	Variables     map[string]struct {
		Value any `json:"value"`
	}
	Changes  []Change
	Drift    []Change
	Deferred []struct {
		Reason string `json:"reason"`
		Change Change `json:"resource_change"`
	}
	Outputs       map[string]Delta
	Checks        []Check
	Configuration struct {
		Providers map[string]Provider `json:"provider_config"`
		Root      Module              `json:"root_module"`
	}

	planned  state
	actions  []concealed // Terraform 1.14 and later
	deferred []struct {
		Action concealed `json:"action_invocation"`
	}
	prior struct {
		Values state `json:"values"`
	}
}

// fields are the top-level keys that say something, and where they go.
func (p *Plan) fields() map[string]any {
	return map[string]any{
		"format_version":              &p.FormatVersion,
		"terraform_version":           &p.ToolVersion,
		"timestamp":                   &p.Timestamp,
		"errored":                     &p.Errored,
		"complete":                    &p.Complete,
		"variables":                   &p.Variables,
		"resource_changes":            &p.Changes,
		"resource_drift":              &p.Drift,
		"deferred_changes":            &p.Deferred,
		"output_changes":              &p.Outputs,
		"checks":                      &p.Checks,
		"planned_values":              &p.planned,
		"action_invocations":          &p.actions,
		"deferred_action_invocations": &p.deferred,
		"prior_state":                 &p.prior,
		"configuration":               &p.Configuration,
	}
}

// A Change is one element of resource_changes.
type Change struct {
	Address         string `json:"address"`
	PreviousAddress string `json:"previous_address"`
	Deposed         string `json:"deposed"`
	ModuleAddress   string `json:"module_address"`
	Mode            string `json:"mode"`
	Type            string `json:"type"`
	Name            string `json:"name"`
	Index           any    `json:"index"`
	ProviderName    string `json:"provider_name"`
	ActionReason    string `json:"action_reason"`
	Change          Delta  `json:"change"`
}

// A Delta is what happens to one value, of a resource or of an output. Nothing
// is assumed of the values: a deleted object has null, an empty object or no
// after at all, depending on the version of the tool.
type Delta struct {
	Actions         []string `json:"actions"`
	Before          any      `json:"before"`
	After           any      `json:"after"`
	AfterUnknown    any      `json:"after_unknown"`
	BeforeSensitive any      `json:"before_sensitive"`
	AfterSensitive  any      `json:"after_sensitive"`
	ReplacePaths    [][]any  `json:"replace_paths"`
	Importing       any      `json:"importing"`
}

// A Check is one element of checks: the status over all instances of one
// block. A block without instances yet has a status as well.
type Check struct {
	Address struct {
		Display string `json:"to_display"`
	} `json:"address"`
	Status    string `json:"status"`
	Instances []struct {
		Problems []struct {
			Message string `json:"message"`
		} `json:"problems"`
	} `json:"instances"`
}

// A Provider is one provider block. Aliases repeat the name.
type Provider struct {
	FullName string `json:"full_name"`
	Version  string `json:"version_constraint"`
}

// A Module is the source of a module as the tool understood it, before modules
// are expanded: it has no instances.
type Module struct {
	Variables map[string]Variable `json:"variables"`
	Outputs   map[string]Output   `json:"outputs"`
	Calls     map[string]Call     `json:"module_calls"`
}

// A Variable is one variable block.
type Variable struct {
	Default   any  `json:"default"`
	Sensitive bool `json:"sensitive"`
	Ephemeral bool `json:"ephemeral"`
}

// An Output is one output block.
type Output struct {
	Expression any  `json:"expression"`
	Sensitive  bool `json:"sensitive"`
	Ephemeral  bool `json:"ephemeral"`
}

// A Call is one module block.
type Call struct {
	Source    string         `json:"source"`
	Version   string         `json:"version_constraint"`
	Arguments map[string]any `json:"expressions"`
	Module    Module         `json:"module"`
}

// A state is planned_values, or the values of prior_state. No rule reads it: a
// forgotten object still stands in planned_values, stripped of its values. But
// it says of more secrets than the changes do.
type state struct {
	Outputs map[string]typed `json:"outputs"`
	Root    stateModule      `json:"root_module"`
}

type stateModule struct {
	Resources []concealed   `json:"resources"`
	Children  []stateModule `json:"child_modules"`
}

// Of a resource or an action that is concealed nothing is kept.
type concealed struct{}

// Of an output its type is kept, as the tools write types, and the text of its
// value; nil where a part of the value is not known.
type typed struct {
	Type             any
	value, sensitive span
}

// OutputType is the type that a root output will have, else the one that it had
// before the plan; nil is unknown. Both tools write a type as a string, such as
// "number", or as a list, such as ["set", "string"].
func (p *Plan) OutputType(name string) any {
	if t := p.planned.Outputs[name].Type; t != nil {
		return t
	}
	return p.prior.Values.Outputs[name].Type
}

// Untouched are the root outputs of the state that the plan says nothing of: one
// with targets leaves out what they have no part in.
func (p *Plan) Untouched() (map[string]Delta, error) {
	all := map[string]Delta{}
	for name, o := range p.prior.Values.Outputs {
		if _, said := p.Outputs[name]; said || len(o.value) == 0 {
			continue
		}
		v, err := Parse(string(o.value))
		if err != nil {
			return nil, err
		}
		sensitive := string(o.sensitive) == "true"
		all[name] = Delta{Actions: []string{"no-op"}, Before: v, After: v, AfterUnknown: false, BeforeSensitive: sensitive, AfterSensitive: sensitive}
	}
	return all, nil
}
