package identity

import "slices"

// A Permission is a word for something that somebody may do.
type Permission string

// The permissions. [Permissions] says what each lets somebody do.
const (
	OrganisationRead   Permission = "organisation:read"
	OrganisationAdmin  Permission = "organisation:admin"
	ProjectRead        Permission = "project:read"
	ProjectAdmin       Permission = "project:admin"
	StackRead          Permission = "stack:read"
	StackAdmin         Permission = "stack:admin"
	StateOutputs       Permission = "state:outputs"
	StateRead          Permission = "state:read"
	StateLock          Permission = "state:lock"
	StateWrite         Permission = "state:write"
	StateRecover       Permission = "state:recover"
	StateForceUnlock   Permission = "state:force_unlock"
	ConfigurationRead  Permission = "configuration:read"
	ConfigurationWrite Permission = "configuration:write"
	VariableRead       Permission = "variable:read"
	VariableWrite      Permission = "variable:write"
	PolicyRead         Permission = "policy:read"
	PolicyAdmin        Permission = "policy:admin"
	PolicyOverrideSoft Permission = "policy:override_soft" // seed 000, "Soft overrides"
	TeamAdmin          Permission = "team:admin"
	TokenAdmin         Permission = "token:admin"
	AuditRead          Permission = "audit:read"
)

// SiteAdmin is what a site administrator may. It is of no organisation, so it
// stands in no scope, and no role has it (docs/identity.md, rule 10).
const SiteAdmin Permission = "site:admin"

// A Role is a named set of permissions.
type Role string

// The roles. Each may what the one before it may, and more.
const (
	Reader     Role = "reader"
	Planner    Role = "planner"
	Applier    Role = "applier"
	Maintainer Role = "maintainer"
	Owner      Role = "owner"
)

var roles = []Role{Reader, Planner, Applier, Maintainer, Owner}

// Roles lists the roles, the least first.
func Roles() []Role { return slices.Clone(roles) }

// A Meaning is what a permission means: a line of the one table of them.
type Meaning struct {
	Permission Permission
	Deepest    Level  // of the scopes it can be asked for: a stack has no teams
	Least      Role   // the first role that has it
	Lets       string // what somebody may do
}

var permissions = []Meaning{
	{OrganisationRead, Organisation, Reader, "see the organisation, its teams and its members"},
	{OrganisationAdmin, Organisation, Owner, "change or delete the organisation, its members and what they may do"},
	{ProjectRead, Project, Reader, "see a project"},
	{ProjectAdmin, Project, Maintainer, "make, change or delete a project, and what its members may do"},
	{StackRead, Stack, Reader, "see a stack, its versions of state without their bytes, and its lock"},
	{StackAdmin, Stack, Maintainer, "make, change or delete a stack, and what its members may do"},
	{StateOutputs, Stack, Reader, "read the outputs that are not sensitive"},
	{StateRead, Stack, Planner, "read a whole state, with every secret in it"},
	{StateLock, Stack, Planner, "take a lock, and give back one's own"},
	{StateWrite, Stack, Applier, "write a new version of a state, with one's own lock"},
	{StateRecover, Stack, Maintainer, "go back to an earlier version, import a state, look at refused bytes"},
	{StateForceUnlock, Stack, Maintainer, "break somebody else's lock"},
	{ConfigurationRead, Stack, Planner, "download a configuration that was uploaded"},
	{ConfigurationWrite, Stack, Planner, "upload a configuration, to be planned"},
	{VariableRead, Stack, Planner, "read variables; those that are sensitive nobody reads"},
	{VariableWrite, Stack, Maintainer, "set and delete variables"},
	{PolicyRead, Stack, Reader, "read policies and what they have said"},
	{PolicyAdmin, Stack, Owner, "say which policies judge"},
	{PolicyOverrideSoft, Stack, Maintainer, "override a soft failure, once"},
	{TeamAdmin, Organisation, Owner, "make, change or delete teams, and choose their members"},
	{TokenAdmin, Organisation, Owner, "make and revoke tokens of teams and of the organisation"},
	{AuditRead, Organisation, Owner, "read and export the audit log"},
}

// Permissions is the table of all permissions, which docs/identity.md repeats. A
// word that is not in it is never allowed.
func Permissions() []Meaning { return slices.Clone(permissions) }

// Permissions is the set that r names; that of an unknown role is empty.
func (r Role) Permissions() []Permission {
	var set []Permission
	for _, m := range permissions {
		if r.has(m) {
			set = append(set, m.Permission)
		}
	}
	return set
}

// At is the set of what r may where it is granted at a level: what means something
// there or below.
func (r Role) At(level Level) []Permission {
	var set []Permission
	for _, m := range permissions {
		if level != Nowhere && m.Deepest >= level && r.has(m) {
			set = append(set, m.Permission)
		}
	}
	return set
}

func (r Role) has(m Meaning) bool { return r.atLeast(m.Least) }

// atLeast reports whether r is least or a role after it. Neither may be unknown.
func (r Role) atLeast(least Role) bool {
	i := slices.Index(roles, least)
	return i >= 0 && slices.Index(roles, r) >= i
}

// Within is the greatest role that may nothing but what is in the set, where it is
// granted at this level; "" if even the least may more. Whoever says piece by piece
// what somebody may gets at most those pieces (docs/identity.md, rule 13).
func Within(set []Permission, at Level) Role {
	if at == Nowhere {
		return ""
	}
	var greatest Role
	for _, r := range roles {
		for _, m := range permissions {
			if m.Deepest >= at && r.has(m) && !slices.Contains(set, m.Permission) {
				return greatest
			}
		}
		greatest = r
	}
	return greatest
}
