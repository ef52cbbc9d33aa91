# Outputs, variables, checks, and what the plan says of itself.
package main

deny contains msg if {
	some name, output in input.output_changes
	output.after_sensitive == false
	output.after_unknown == true
	msg := sprintf("output %s is known after apply", [name])
}

deny_checks contains msg if {
	some check in input.checks
	check.status != "pass"
	msg := sprintf("%s: %s", [check.address.to_display, check.status])
}

warn contains sprintf("variable %s is set", [name]) if {
	some name, _ in input.variables
}

warn contains "errored" if input.errored

warn contains "not complete" if input.complete == false

warn contains "no version" if not input.format_version
