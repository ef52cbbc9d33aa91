package postgres

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// A DepositKind is what sort of thing a deposit is. It begins the ids of them.
type DepositKind string

// The kinds of deposits.
const (
	Policy             DepositKind = "pol_"  // of an organisation
	PolicySet          DepositKind = "pset_" // of an organisation
	PolicySetParameter DepositKind = "par_"  // of a policy set
	PolicySetVersion   DepositKind = "psv_"  // of a policy set
	OAuthClient        DepositKind = "oac_"  // of an organisation
	Notification       DepositKind = "ntf_"  // of a stack, a project or a team
	Module             DepositKind = "mod_"  // of an organisation
	ModuleVersion      DepositKind = "mver_" // of a module
)

// A depositMeaning is a line of the one table of kinds.
type depositMeaning struct {
	noun         string // in the words of actions
	read, change identity.Permission
	into         []string            // prefixes of the ids of what it may be in
	links        map[string][]string // by relation, the prefixes of the ids that it may lead to
	naming       *identity.Naming    // nil where any text will do, or none
}

// meaning is the table. Of what is no kind, nobody may do anything.
func (k DepositKind) meaning() depositMeaning {
	organisation := []string{identity.OrganisationID}
	named := func(n identity.Naming) *identity.Naming { return &n }
	switch k {
	case Policy:
		return depositMeaning{noun: "policy", read: identity.PolicyRead, change: identity.PolicyAdmin, into: organisation,
			naming: named(identity.PolicyName())}
	case PolicySet:
		return depositMeaning{noun: "policy_set", read: identity.PolicyRead, change: identity.PolicyAdmin, into: organisation,
			naming: named(identity.PolicySetName()),
			links: map[string][]string{"policies": {string(Policy)}, "stacks": {identity.StackID}, "stack_exclusions": {identity.StackID},
				"projects": {identity.ProjectID}, "project_exclusions": {identity.ProjectID}}}
	case PolicySetParameter:
		return depositMeaning{noun: "policy_set_parameter", read: identity.PolicyRead, change: identity.PolicyAdmin, into: []string{string(PolicySet)}}
	case PolicySetVersion:
		return depositMeaning{noun: "policy_set_version", read: identity.PolicyRead, change: identity.PolicyAdmin, into: []string{string(PolicySet)}}
	case OAuthClient:
		return depositMeaning{noun: "oauth_client", read: identity.OrganisationRead, change: identity.OrganisationAdmin, into: organisation,
			links: map[string][]string{"projects": {identity.ProjectID}}}
	case Notification:
		// Its address can be a secret, so only who may change it reads it.
		return depositMeaning{noun: "notification", read: identity.StackAdmin, change: identity.StackAdmin,
			into: []string{identity.StackID, identity.ProjectID, identity.TeamID}, links: map[string][]string{"users": {identity.UserID, identity.MembershipID}}}
	case Module:
		return depositMeaning{noun: "module", read: identity.OrganisationRead, change: identity.OrganisationAdmin, into: organisation}
	case ModuleVersion:
		return depositMeaning{noun: "module_version", read: identity.OrganisationRead, change: identity.OrganisationAdmin, into: []string{string(Module)}}
	}
	return depositMeaning{noun: "deposit"}
}

// kindOf is the kind that an id says, or none of them.
func kindOf(id string) DepositKind {
	prefix, _, _ := strings.Cut(id, "_")
	return DepositKind(prefix + "_")
}

func (k DepositKind) noun() string                { return k.meaning().noun }
func (k DepositKind) read() identity.Permission   { return k.meaning().read }
func (k DepositKind) change() identity.Permission { return k.meaning().change }

// goesInto reports whether a deposit of this kind can be in that place.
func (k DepositKind) goesInto(place string) bool {
	return slices.ContainsFunc(k.meaning().into, func(prefix string) bool { return identity.IsID(prefix, place) })
}

// checkName refuses a name that a deposit of this kind cannot have.
func (k DepositKind) checkName(name string) error {
	if naming := k.meaning().naming; naming != nil {
		return naming.Check(name)
	}
	if len(name) > 255 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return problem.New(api.Invalid, "the name of this is too long, or no text").WithHint("at most 255 bytes of one line")
	}
	return nil
}
