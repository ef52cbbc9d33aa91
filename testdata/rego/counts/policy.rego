# Rules about the whole plan.
package main

count_of(action) := count([rc | some rc in input.resource_changes; action in rc.change.actions])

deny contains msg if {
	n := count_of("delete")
	n > 2
	msg := sprintf("%d deletions, at most 2 are usual", [n])
}

deny contains msg if {
	by_type := {type: n |
		some type in {rc.type | some rc in input.resource_changes}
		n := count([1 | some rc in input.resource_changes; rc.type == type])
	}
	by_type.terraform_data > 30
	msg := sprintf("objects by type: %v", [by_type])
}

warn contains msg if {
	n := sum([weight | some rc in input.resource_changes; some action in rc.change.actions; weight := {"create": 1, "update": 2, "delete": 10}[action]])
	n > 0
	msg := sprintf("blast radius %d", [n])
}

warn contains "no changes at all" if {
	every rc in input.resource_changes {
		rc.change.actions == ["no-op"]
	}
}
