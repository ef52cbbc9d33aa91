# A file for both versions: it imports what v1 brought.
package main

import rego.v1

default protected := set()

protected := {"terraform_data.db", "terraform_data.nums"}

deny contains msg if {
	some rc in input.resource_changes
	rc.address in protected
	some action in rc.change.actions
	action in {"delete", "forget"}
	msg := sprintf("%s is protected from %s", [rc.address, action])
}
