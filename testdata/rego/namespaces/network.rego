package network

deny contains msg if {
	some rc in input.resource_changes
	startswith(rc.address, "module.web")
	rc.change.actions != ["no-op"]
	msg := sprintf("the web module changes: %s", [rc.address])
}
