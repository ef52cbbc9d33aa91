# Results as plain strings, in one rule of each level.
package main

deny contains msg if {
	some rc in input.resource_changes
	"delete" in rc.change.actions
	not "create" in rc.change.actions
	msg := sprintf("%s would be destroyed", [rc.address])
}

violation contains msg if {
	some rc in input.resource_changes
	rc.change.after.input.disk_gb > 500
	msg := sprintf("%s has a disk of %d GB", [rc.address, rc.change.after.input.disk_gb])
}

warn contains msg if {
	some rc in input.resource_changes
	rc.change.actions == ["update"]
	msg := concat(" ", ["changes in place:", rc.address])
}
