package main

import rego.v1

allowed := {"t3.small", "t3.medium"}

default limit := 5

limit := 10 if input.variables.big.value

deny contains {"msg": msg, "address": rc.address} if {
	# every managed object
	some rc in input.resource_changes
	rc.mode == "managed"
	is_put(rc)
	not rc.change.after["instance_type"] in allowed
	msg := sprintf("%s is not allowed at %s", [rc.change.after.instance_type, rc.address])
}

deny contains "too many" if count([rc | some rc in input.resource_changes; "delete" in rc.change.actions]) > limit

is_put(rc) if rc.change.actions[_] in ["create", "update"]

is_put(rc) if {
	startswith(rc.type, "x_") # an else follows
} else if {
	rc.type == "y"
}
