# Rules over planned_values and prior_state, whose modules nest.
package main

modules contains module if {
	some path
	walk(input.planned_values.root_module, [path, module])
	is_object(module)
	module.resources
}

deny contains msg if {
	some module in modules
	some resource in module.resources
	resource.values.input.disk_gb > 100
	msg := sprintf("%s: %v GB", [resource.address, resource.values.input.disk_gb])
}

warn contains msg if {
	some module in modules
	n := count(module.resources)
	msg := sprintf("%s holds %d resources", [object.get(module, "address", "the root"), n])
}

warn contains msg if {
	n := count(input.prior_state.values.root_module.resources)
	msg := sprintf("%d resources exist", [n])
}
