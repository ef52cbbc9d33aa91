# assize_modules are all module calls of the configuration, nested ones too. Their addresses have no
# instance keys: module_calls/net/module/module_calls/subnets is module.net.module.subnets.
assize_modules contains {"address": concat(".", address), "source": assize_text(call, "source")} if {
	walk(input.configuration.root_module, [path, call])
	count(path) % 3 == 2
	every i, step in path {
		step == ["module_calls", step, "module"][i % 3]
	}
	address := [concat(".", ["module", step]) | some i, step in path; i % 3 == 1]
}

# assize_foreign are the calls whose source matches none of a rule's expressions.
assize_foreign(rule) := [call |
	some call in assize_modules
	assize_globs(object.get(rule, "address", []), [call.address])
	every pattern in rule.value {
		not regex.match(pattern, call.source)
	}
]
