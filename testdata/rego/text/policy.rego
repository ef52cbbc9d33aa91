# Built-ins over text: sprintf, regex, glob, split, JSON inside strings.
package main

names contains name if {
	some rc in input.resource_changes
	name := rc.name
}

deny contains msg if {
	some name in names
	not regex.match(`^[a-z]+(_[a-z]+)*$`, name)
	msg := sprintf("%q is no good name", [name])
}

deny contains msg if {
	some rc in input.resource_changes
	glob.match("terraform_data.*", null, rc.address)
	is_string(rc.index)
	contains(rc.index, ".")
	parts := split(rc.index, ".")
	msg := sprintf("%s: the key has %d parts: %v", [rc.address, count(parts), parts])
}

warn contains msg if {
	policy := json.unmarshal(`{"Statement": [{"Effect": "Allow", "Action": "*"}]}`)
	some statement in policy.Statement
	statement.Action == "*"
	some rc in input.resource_changes
	rc.type == "terraform_data"
	text := rc.change.after.input.str
	json.is_valid(text)
	number := json.unmarshal(text)
	msg := sprintf("%s: %v, %s, %v", [rc.address, number, upper(trim_suffix(rc.name, "s")), replace(statement.Effect, "l", "L")])
}

warn contains regex.replace(rc.address, `\[.*\]$`, "[*]") if {
	some rc in input.resource_changes
	rc.change.actions == ["create"]
}
