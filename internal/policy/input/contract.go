package input

import (
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
)

// A Contract is what a policy and its judge have agreed on: how the input looks
// and where the decision stands (docs/policy-input.md, rule 1).
type Contract struct {
	Name         string // assize or stackship
	InputVersion string
	EntryPoint   string // the rule that gives the decision
	Subject      string // the member that says what the plan is of: stack or workspace

	// bare contracts have the fields of seed 000 and no others.
	bare bool
}

// Package is the one that the entry point stands in, without data: assize.v1.
func (c Contract) Package() string {
	return strings.TrimSuffix(strings.TrimPrefix(c.EntryPoint, "data."), "."+c.Rule())
}

// Rule is the name of the rule that gives the decision.
func (c Contract) Rule() string { return c.EntryPoint[strings.LastIndex(c.EntryPoint, ".")+1:] }

// Assize is the contract of policies that are written for this program.
func Assize() Contract {
	return Contract{Name: "assize", InputVersion: "assize.policy.input/v1", EntryPoint: "data.assize.v1.decision", Subject: "stack"}
}

// Stackship is the contract of bundles that were written for StackShip (seed
// 000, "Policy input v1").
func Stackship() Contract {
	return Contract{Name: "stackship", InputVersion: "stackship.policy.input/v1", EntryPoint: "data.stackship.v1.decision", Subject: "workspace", bare: true}
}

// Contracts lists every contract, ours first.
func Contracts() []Contract { return []Contract{Assize(), Stackship()} }

// ContractNamed finds a contract by its name.
func ContractNamed(name string) (Contract, error) {
	var names []string
	for _, c := range Contracts() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Contract{}, problem.New(api.Invalid, "there is no contract %q", name).WithHint("use %s", strings.Join(names, " or "))
}

func contractOf(version string) (Contract, error) {
	for _, c := range Contracts() {
		if c.InputVersion == version {
			return c, nil
		}
	}
	return Contract{}, problem.New(api.Invalid, "the policy input has version %q, which this build does not know", version).
		WithHint("it knows %s and %s", Assize().InputVersion, Stackship().InputVersion)
}

// expresses refuses a plan of which a policy under this contract would see
// less than there is (docs/policy-input.md, rule 7).
func (c Contract) expresses(p *plan.Plan) error {
	if c.bare && len(p.Deferred) > 0 {
		return problem.New(api.Invalid, "the plan leaves %d changes for a later plan, which %s cannot say", len(p.Deferred), c.InputVersion).
			WithHint("judge it under the contract %s", Assize().Name)
	}
	return nil
}
