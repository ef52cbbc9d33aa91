# Results as objects: msg, what names the finding, and whatever else the
# author attaches, in the top level and nested as Gatekeeper's library does.
package main

deny contains result if {
	some rc in input.resource_changes
	rc.change.after.input.size == "xlarge"
	result := {
		"msg": "xlarge needs a capacity review",
		"rule": "sizes",
		"address": rc.address,
		"_loc": {"file": "main.tf", "line": 12},
		"severity": "high",
		"allowed": {"small", "medium", "large"},
		"limits": {"disk_gb": 500, "ratio": 0.5, "review": true, "owner": null},
	}
}

violation contains {"msg": msg, "details": details} if {
	some rc in input.resource_changes
	rc.deposed
	msg := "a deposed object is left over"
	details := {"rule": "deposed", "address": rc.address, "deposed": rc.deposed}
}

# Two results that differ in metadata only are two findings.
warn contains result if {
	some rc in input.resource_changes
	rc.type == "terraform_data"
	rc.change.after.input.tags.owner == "ops"
	result := {"msg": "owned by ops", "_details": {"address": rc.address}}
}
