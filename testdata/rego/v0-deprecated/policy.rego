# Built-ins that OPA deprecated and that files in v0 still call.
package main

deny[msg] {
	rc := input.resource_changes[_]
	re_match("^terraform_data\\.(db|cbd)", rc.address)
	any([rc.change.actions[_] == "delete", rc.change.actions[_] == "update"])
	msg := sprintf("%s is stateful", [rc.address])
}

warn[msg] {
	all([ok | ok := input.resource_changes[_].change.actions != ["delete"]])
	cast_array({1}) == [1]
	msg := "no plain delete"
}
