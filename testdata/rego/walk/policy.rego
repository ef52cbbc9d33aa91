# walk over everything: the policy reaches keys that it does not name.
package main

deny contains msg if {
	some path, value
	walk(input, [path, value])
	value == "xlarge"
	msg := sprintf("xlarge at %s", [concat("/", [p | some step in path; p := sprintf("%v", [step])])])
}

warn contains msg if {
	some key, value in input
	is_array(value)
	msg := sprintf("%s has %d elements", [key, count(value)])
}

warn contains msg if {
	version := object.get(input, "terraform_version", "none")
	msg := sprintf("made by %s", [version])
}
