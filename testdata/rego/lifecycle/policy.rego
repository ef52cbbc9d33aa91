# Everything that can happen to an object.
package main

deny_replace contains {"msg": msg, "rule": "no-replace", "address": rc.address} if {
	some rc in input.resource_changes
	{"delete", "create"} == {action | some action in rc.change.actions}
	msg := sprintf("replaced: %s", [object.get(rc, "action_reason", "no reason given")])
}

deny_forget contains {"msg": "forgotten", "rule": "no-forget", "address": rc.address} if {
	some rc in input.resource_changes
	"forget" in rc.change.actions
}

deny_deposed contains {"msg": "deposed", "rule": "deposed", "address": rc.address, "deposed": rc.deposed} if {
	some rc in input.resource_changes
	rc.deposed != ""
}

warn_moved contains {"msg": "moved", "address": rc.address, "from": rc.previous_address} if {
	some rc in input.resource_changes
	rc.previous_address != rc.address
}

warn_drift contains {"msg": "drifted", "address": rc.address} if {
	some rc in input.resource_drift
}

warn_path contains {"msg": "forces replacement", "address": rc.address, "paths": rc.change.replace_paths} if {
	some rc in input.resource_changes
	rc.change.replace_paths
}
