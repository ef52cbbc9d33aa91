# What one plan may add up to. A rule about a resource cannot see the sum, so
# this one is written in Rego, by conftest's convention.
package main

import rego.v1

budget_gb := 1000

written contains rc if {
	some rc in input.resource_changes
	some action in rc.change.actions
	action in {"create", "update"}
}

deny contains result if {
	total := sum([gb | some rc in written; gb := rc.change.after.input.disk_gb])
	total > budget_gb
	result := {
		"msg": sprintf("the disks of this plan come to %v GB, and the budget of one change is %v GB", [total, budget_gb]),
		"rule": "disk-budget",
	}
}

# What is not known before apply cannot be added up; that is not "within the budget".
deny contains result if {
	some rc in written
	rc.change.after_unknown.input.disk_gb == true
	result := {
		"msg": "disk_gb is known after apply, so the budget cannot be checked",
		"rule": "disk-budget",
		"address": rc.address,
	}
}
