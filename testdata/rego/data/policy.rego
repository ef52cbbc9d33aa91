# Documents below data: the directory names the place, the file's name does not.
package main

import data.limits

deny contains msg if {
	some rc in input.resource_changes
	size := rc.change.after.input.size
	not size in limits.sizes
	msg := sprintf("%s: %s is none of %v", [rc.address, size, limits.sizes])
}

deny contains msg if {
	some rc in input.resource_changes
	rc.change.after.input.disk_gb > limits.disk.max_gb
	msg := sprintf("%s: over %d GB", [rc.address, limits.disk.max_gb])
}

warn contains msg if {
	some rc in input.resource_changes
	owner := data.teams.owners[rc.name]
	rc.change.actions != ["no-op"]
	msg := sprintf("%s belongs to %s", [rc.address, owner])
}

exception contains rules if rules := data.waived[_]
