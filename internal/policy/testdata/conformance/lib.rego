# What a Rego author needs to judge a plan as strictly as rules do.
package lib

import rego.v1

# written lists the managed objects that the plan creates or changes.
written contains rc if {
	some rc in input.resource_changes
	rc.mode == "managed"
	some action in rc.change.actions
	action in {"create", "update"}
}

# unknown holds when the value at path, or anything it is part of, is known
# only after apply.
unknown(rc, path) if {
	some n in numbers.range(0, count(path))
	object.get(rc.change, array.concat(["after_unknown"], array.slice(path, 0, n)), false) == true
}

# value is undefined where the attribute is absent or null.
value(rc, path) := v if {
	v := object.get(rc.change.after, path, null)
	v != null
}

# protected matches an object's address and the one it was moved from.
protected(rc, pattern) if glob.match(pattern, null, rc.address)

protected(rc, pattern) if glob.match(pattern, null, rc.previous_address)

finding(rule, rc) := {"msg": rule, "rule": rule, "address": rc.address}
