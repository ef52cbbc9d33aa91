package rules.shared

messages contains sprintf("%s is written", [rc.address]) if {
	some rc in input.resource_changes
	some action in rc.change.actions
	action in writes
}
