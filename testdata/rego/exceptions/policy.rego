# Exceptions are per name: deny_size and warn_size are both "size", and a bare
# deny, violation or warn is "".
package main

deny_size contains msg if {
	some rc in input.resource_changes
	rc.change.after.input.size == "xlarge"
	msg := sprintf("%s is xlarge", [rc.address])
}

warn_size contains "something is xlarge" if {
	some rc in input.resource_changes
	rc.change.after.input.size == "xlarge"
}

deny_destroy contains msg if {
	some rc in input.resource_changes
	"delete" in rc.change.actions
	msg := sprintf("%s would be destroyed", [rc.address])
}

violation contains "an update" if {
	some rc in input.resource_changes
	rc.change.actions == ["update"]
}

# deny_warn_read is "read": one prefix after the other is taken away.
deny_warn_read contains "something is read" if {
	some rc in input.resource_changes
	rc.change.actions == ["read"]
}

exception contains rules if {
	rules := ["size", "read"]
}

exception contains rules if {
	some rc in input.resource_changes
	rc.address == "terraform_data.nums"
	rc.change.actions == ["forget"]
	rules := ["destroy"]
}
