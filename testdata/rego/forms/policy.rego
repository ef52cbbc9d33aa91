# Every form of a rule's name, sets and lists, and names that are no rules.
package main

deny_database contains "a database is touched" if touched("terraform_data.db")

deny_A1_b2 contains "letters and digits" if touched("terraform_data.cbd")

violation_import contains msg if {
	some rc in input.resource_changes
	rc.change.importing.id
	msg := sprintf("%s is imported", [rc.address])
}

# A list is as good as a set, and so is a set that is made at once.
deny_list := [rc.address | some rc in input.resource_changes; rc.change.actions == ["update"]]

warn_moved := {msg |
	some rc in input.resource_changes
	msg := sprintf("%s was %s", [rc.address, rc.previous_address])
}

warn contains "there are checks that fail" if {
	some check in input.checks
	check.status == "fail"
}

denied contains "no rule" if true

warning := "no rule"

touched(address) if {
	some rc in input.resource_changes
	rc.address == address
	rc.change.actions != ["no-op"]
}
