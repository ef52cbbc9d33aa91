# v0 with the keywords that became v1, each imported; rules without "if".
package main

import future.keywords.every
import future.keywords.in

destroys(rc) {
	"delete" in rc.change.actions
}

deny_destroy[{"msg": msg, "address": rc.address}] {
	some rc in input.resource_changes
	destroys(rc)
	msg := "nothing is destroyed on a Friday"
}

warn_quiet[msg] {
	every rc in input.resource_changes {
		not destroys(rc)
	}
	msg := "nothing is destroyed"
}
