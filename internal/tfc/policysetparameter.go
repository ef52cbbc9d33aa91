package tfc

import (
	"github.com/assize-iac/assize/internal/postgres"
)

func policySetParameters() []route {
	n := policySetParameterNoun()
	return []route{
		{pattern: "GET /api/v2/policy-sets/{in}/parameters", do: n.list(in("in"))},
		{pattern: "POST /api/v2/policy-sets/{in}/parameters", do: n.create(in("in"))},
		{pattern: "GET /api/v2/policy-sets/{in}/parameters/{id}", do: n.read},
		{pattern: "PATCH /api/v2/policy-sets/{in}/parameters/{id}", do: n.update},
		{pattern: "DELETE /api/v2/policy-sets/{in}/parameters/{id}", do: n.remove},
	}
}

// A policySetParameterDoc is a value that policies of a set are given by name. One
// that is sensitive nobody reads.
type policySetParameterDoc struct {
	ID           string                     `jsonapi:"primary,vars"`
	Key          *string                    `jsonapi:"attr,key"`
	Category     *string                    `jsonapi:"attr,category"`
	Settings     policySetParameterSettings `jsonapi:"attr,*"`
	Configurable *policySetRef              `jsonapi:"relation,configurable"`
}

// policySetParameterSettings are what is kept of a parameter in the clear. A value
// that is sensitive is a secret of the deposit, and is not in here.
type policySetParameterSettings struct {
	Value     *string `json:"value"`
	Sensitive bool    `json:"sensitive"`
}

func policySetParameterNoun() noun[policySetParameterDoc, policySetParameterSettings] {
	return noun[policySetParameterDoc, policySetParameterSettings]{kind: postgres.PolicySetParameter,
		put: putPolicySetParameter, show: showPolicySetParameter}
}

const policySetCategory = "policy-set"

func putPolicySetParameter(r *request, d *postgres.Deposit, s *policySetParameterSettings, was policySetParameterSettings, sent *policySetParameterDoc) error {
	set(&d.Name, sent.Key)
	if s.Value == nil {
		s.Value = was.Value
	}
	switch {
	case d.Name == "":
		return invalid("the parameter has no key")
	case sent.Category != nil && *sent.Category != policySetCategory:
		return invalid("the category of a parameter is %s", policySetCategory)
	case was.Sensitive && !s.Sensitive:
		return invalid("a value that is sensitive stays so").WithHint("delete the parameter and make another one")
	case !s.Sensitive || s.Value == nil:
		return nil
	}
	value := *s.Value // sent now, or in the clear until now
	s.Value = nil
	return r.control.Seal(r.Context(), d, "value", value)
}

func showPolicySetParameter(_ *request, _ *postgres.View, d postgres.Deposit, s policySetParameterSettings) (*policySetParameterDoc, error) {
	if s.Value == nil && !s.Sensitive {
		s.Value = new(string)
	}
	category := policySetCategory
	return &policySetParameterDoc{ID: d.ID, Key: &d.Name, Category: &category, Settings: s, Configurable: &policySetRef{ID: d.Place}}, nil
}
