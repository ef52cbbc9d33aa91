# Rules over configuration: module sources, nested, and provisioners.
package main

calls contains [name, call] if {
	some path
	walk(input.configuration.root_module, [path, node])
	some name, call in node.module_calls
}

deny_source contains {"msg": msg, "address": concat(".", ["module", name])} if {
	some [name, call] in calls
	not startswith(call.source, "./modules/")
	not regex.match(`^git::https://github\.com/acme/`, call.source)
	msg := sprintf("module %s comes from %s", [name, call.source])
}

warn_references contains msg if {
	some resource in input.configuration.root_module.resources
	some reference in resource.expressions.input.references
	startswith(reference, "var.secret")
	msg := sprintf("%s uses a secret", [resource.address])
}
