# The style of most public policies for plans: no keywords, "_" for each.
package main

import input as tfplan

resources[rc] {
	rc := tfplan.resource_changes[_]
	rc.mode == "managed"
}

deny[msg] {
	rc := resources[_]
	rc.change.actions[_] == "delete"
	msg := sprintf("%v: deletion needs an approval", [rc.address])
}

deny[msg] {
	rc := resources[_]
	rc.change.after.input.kind = "database"
	not rc.change.after.input.tags
	msg := sprintf("%v: a database without tags", [rc.address])
}

warn[msg] {
	created := [rc | rc := resources[_]; rc.change.actions == ["create"]]
	count(created) > 10
	msg := sprintf("%d resources would be created", [count(created)])
}
