package tfc

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// The levels of access that the protocol has for a team at a workspace or a
// project. Each is a role, but for the last, which says piece by piece what is
// meant (docs/identity.md, rule 13).
const (
	readLevel     = "read"
	planLevel     = "plan"
	writeLevel    = "write"
	maintainLevel = "maintain"
	adminLevel    = "admin"
	customLevel   = "custom"
)

// A level is a role by the protocol's name for it.
type level struct {
	name string
	role identity.Role
}

// levelOf is the name of the level with which a team has access somewhere. A role
// that was given in another way shows as the first level that has it.
func levelOf(levels []level, a postgres.Access) string {
	if a.Level != "" {
		return a.Level
	}
	i := slices.IndexFunc(levels, func(l level) bool { return l.role == a.Role })
	switch {
	case i >= 0:
		return levels[i].name
	case a.Role == identity.Owner:
		return adminLevel
	}
	return customLevel
}

// grantAt is the access that a level with these flags gives a team at a place.
// allowed is what the flags let somebody do: the role is the greatest that is all
// in it, and there may be none.
func grantAt(levels []level, name string, flags any, allowed []identity.Permission, team string, at identity.Scope) (postgres.Access, error) {
	a := postgres.Access{Level: name, Holding: postgres.Holding{Holder: team, Grant: identity.Grant{Scope: at}}}
	if name == customLevel {
		var err error
		a.Role = identity.Within(allowed, at.Level())
		a.Flags, err = json.Marshal(flags)
		return a, err
	}
	i := slices.IndexFunc(levels, func(l level) bool { return l.name == name })
	if i < 0 {
		return a, problem.New(api.Invalid, "there is no such level of access here").WithHint("there are %s and %s", names(levels), customLevel)
	}
	a.Role = levels[i].role
	return a, nil
}

func names(levels []level) string {
	var all []string
	for _, l := range levels {
		all = append(all, l.name)
	}
	return strings.Join(all, ", ")
}

// refuseFlags refuses flags beside a level that says them all itself. The words are
// those for which clients look.
func (c change) refuseFlags(level string, flags []string) error {
	if level == customLevel || len(c.attributes) == 0 {
		return nil
	}
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(c.attributes, &sent); err != nil {
		return notJSONAPI(err)
	}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if slices.Contains(flags, name) && string(sent[name]) != "null" {
			words := strings.ReplaceAll(name, "-", " ")
			return said{title: "invalid attribute", problem: problem.New(api.Invalid,
				"%s is read-only when access level is '%s'; use the 'custom' access level to set this attribute.",
				strings.ToUpper(words[:1])+words[1:], level)}
		}
	}
	return nil
}

// workFlags are what custom access to workspaces is made of, wherever it is given.
type workFlags struct {
	Runs            string `json:"runs"`
	Variables       string `json:"variables"`
	StateVersions   string `json:"state-versions"`
	SentinelMocks   string `json:"sentinel-mocks"`
	RunTasks        bool   `json:"run-tasks"`
	PolicyOverrides bool   `json:"policy-overrides"`
}

// noWork is what somebody has who only knows that a workspace is there.
func noWork() workFlags {
	return workFlags{Runs: "read", Variables: "none", StateVersions: "none", SentinelMocks: "none"}
}

// workOf are the flags of a level.
func workOf(level string) workFlags {
	switch level {
	case readLevel:
		return workFlags{Runs: "read", Variables: "read", StateVersions: "read", SentinelMocks: "none"}
	case planLevel:
		return workFlags{Runs: "plan", Variables: "read", StateVersions: "read", SentinelMocks: "none"}
	case writeLevel:
		return workFlags{Runs: "apply", Variables: "write", StateVersions: "write", SentinelMocks: "read"}
	case maintainLevel:
		return workFlags{Runs: "apply", Variables: "write", StateVersions: "write", SentinelMocks: "read", RunTasks: true}
	case adminLevel:
		return workFlags{Runs: "apply", Variables: "write", StateVersions: "write", SentinelMocks: "read", RunTasks: true, PolicyOverrides: true}
	}
	return noWork()
}

// The values of flags that are words, the least first.
var (
	runsWords      = []string{"read", "plan", "apply"}
	variablesWords = []string{"none", "read", "write"}
	stateWords     = []string{"none", "read-outputs", "read", "write"}
	mocksWords     = []string{"none", "read"}
)

func (f workFlags) check() error {
	return errorsOf(oneOf("runs", f.Runs, runsWords), oneOf("variables", f.Variables, variablesWords),
		oneOf("state-versions", f.StateVersions, stateWords), oneOf("sentinel-mocks", f.SentinelMocks, mocksWords))
}

// oneOf refuses a flag that is none of these words.
func oneOf(name, value string, words []string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return problem.New(api.Invalid, "the flag %s has no such value", name).WithHint("it is one of: %s", strings.Join(words, ", "))
}

// errorsOf is the first of some errors.
func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// allow are the permissions that custom access to workspaces lets somebody use. A
// lock is for who plans, and a state is written by who applies, so these take two
// flags each (docs/identity.md, rule 13).
func (f workFlags) allow(locking bool) []identity.Permission {
	allowed := []identity.Permission{identity.StackRead, identity.PolicyRead}
	for permission, has := range map[identity.Permission]bool{
		identity.StateOutputs:       reaches(stateWords, f.StateVersions, "read-outputs"),
		identity.StateRead:          reaches(stateWords, f.StateVersions, "read"),
		identity.StateLock:          locking && reaches(runsWords, f.Runs, "plan"),
		identity.StateWrite:         reaches(stateWords, f.StateVersions, "write") && reaches(runsWords, f.Runs, "apply"),
		identity.ConfigurationRead:  reaches(runsWords, f.Runs, "plan"),
		identity.ConfigurationWrite: reaches(runsWords, f.Runs, "plan"),
		identity.VariableRead:       reaches(variablesWords, f.Variables, "read"),
		identity.VariableWrite:      reaches(variablesWords, f.Variables, "write"),
		identity.PolicyOverrideSoft: f.PolicyOverrides,
	} {
		if has {
			allowed = append(allowed, permission)
		}
	}
	return allowed
}

// reaches reports whether value is least or a word after it.
func reaches(words []string, value, least string) bool {
	return slices.Index(words, value) >= slices.Index(words, least)
}

// A teamRef points to a team.
type teamRef struct {
	ID string `jsonapi:"primary,teams"`
}

// must refuses a document without a relation that it cannot do without.
func must[T any](relation *T, name string) error {
	if relation == nil {
		return problem.New(api.Invalid, "the document says no %s", name).WithHint("it is a relation of the document: %s", fmt.Sprintf(`"%s": {"data": {"type": ..., "id": ...}}`, name))
	}
	return nil
}
