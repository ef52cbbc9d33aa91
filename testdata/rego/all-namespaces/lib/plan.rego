# No rules here: a package that others import.
package lib.plan

created contains rc if {
	some rc in input.resource_changes
	"create" in rc.change.actions
}

destroyed contains rc if {
	some rc in input.resource_changes
	"delete" in rc.change.actions
}

finding(rule, rc) := {"msg": sprintf("%s at %s", [rule, rc.address]), "rule": rule, "address": rc.address}
