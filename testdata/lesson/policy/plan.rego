# The ten rules of ../rules.json in Rego, as conftest and opa eval read them.
# The helpers come first; every rule below them has the same three parts as its
# twin: select, check, report.
package main

import rego.v1

# writes are the managed objects that will have an "after": a replacement's
# actions hold "create", a deletion's do not.
writes contains rc if {
	some rc in input.resource_changes
	rc.mode == "managed"
	some action in rc.change.actions
	action in {"create", "update"}
}

# type_is matches globs in which only * and ? are special.
type_is(rc, patterns) if {
	some pattern in patterns
	glob.match(pattern, null, rc.type)
}

# address_is protects what was moved under its previous address too.
address_is(rc, patterns) if {
	some pattern in patterns
	some address in [rc.address, object.get(rc, "previous_address", rc.address)]
	glob.match(pattern, null, address)
}

# unknown holds when the value at path, or anything that it is part of, is
# known only after apply.
unknown(rc, path) if {
	is_object(rc.change.after_unknown)
	some n in numbers.range(1, count(path))
	object.get(rc.change.after_unknown, array.slice(path, 0, n), false) == true
}

unknown(rc, _) if rc.change.after_unknown == true

# present says the same of absent and null. Asking "not value(...)" instead would
# take a value of false for an absent one.
present(rc, path) if object.get(rc.change.after, path, null) != null

# value is undefined where the attribute is absent or null.
value(rc, path) := v if {
	v := object.get(rc.change.after, path, null)
	v != null
}

# violates fails closed: what is unknown violates every check, and what is
# missing violates exists alone.
violates(rc, check) if unknown(rc, check.path)

violates(rc, check) if {
	check.op == "exists"
	not present(rc, check.path)
}

violates(rc, check) if {
	check.op == "in"
	v := value(rc, check.path)
	not v in check.value
}

violates(rc, check) if {
	check.op == "not_in"
	v := value(rc, check.path)
	v in check.value
}

# Rego orders values of different types, so the types come first.
violates(rc, check) if {
	check.op == "lte"
	v := value(rc, check.path)
	not is_number(v)
}

violates(rc, check) if {
	check.op == "lte"
	v := value(rc, check.path)
	is_number(v)
	v > check.value
}

violates(rc, check) if {
	check.op == "matches"
	v := value(rc, check.path)
	not is_string(v)
}

violates(rc, check) if {
	check.op == "matches"
	v := value(rc, check.path)
	is_string(v)
	not regex.match(check.value, v)
}

finding(rule, rc, message) := {"msg": message, "rule": rule, "address": rc.address}

deny contains result if {
	some rc in writes
	type_is(rc, ["terraform_data"])
	violates(rc, {"path": ["input", "tags", "owner"], "op": "exists"})
	result := finding("required-owner", rc, "every resource carries an owner tag; add tags.owner")
}

deny contains result if {
	some rc in writes
	type_is(rc, ["terraform_data"])
	violates(rc, {"path": ["input", "tags", "env"], "op": "exists"})
	result := finding("required-env", rc, "every resource carries an environment tag; add tags.env")
}

deny contains result if {
	some rc in writes
	type_is(rc, ["terraform_data"])
	violates(rc, {"path": ["input", "tags", "env"], "op": "in", "value": ["dev", "staging", "prod"]})
	result := finding("env-values", rc, "the environment is dev, staging or prod")
}

deny contains result if {
	some rc in writes
	type_is(rc, ["terraform_data"])
	violates(rc, {"path": ["input", "size"], "op": "not_in", "value": ["xlarge", "metal"]})
	result := finding("forbid-huge-sizes", rc, "xlarge and metal sizes need a capacity review")
}

deny contains result if {
	some rc in writes
	type_is(rc, ["terraform_data"])
	violates(rc, {"path": ["input", "disk_gb"], "op": "lte", "value": 500})
	result := finding("disk-limit", rc, "disks above 500 GB need a capacity review")
}

deny contains result if {
	some rc in writes
	type_is(rc, ["local_file"])
	violates(rc, {"path": ["file_permission"], "op": "not_in", "value": ["0777", "0666"]})
	result := finding("file-mode", rc, "files are not writable by everybody; set file_permission")
}

deny contains result if {
	some rc in input.resource_changes
	address_is(rc, ["terraform_data.audit_log*", "*.terraform_data.audit_log*"])
	"delete" in rc.change.actions
	result := finding("protect-audit-log", rc, "the audit log is kept for seven years; ask the security team")
}

deny contains result if {
	some rc in input.resource_changes
	address_is(rc, ["terraform_data.db*", "*.terraform_data.db*"])
	"delete" in rc.change.actions
	"create" in rc.change.actions
	result := finding("no-replace-stateful", rc, "stateful resources are not replaced by a routine apply; write a migration plan")
}

# module_calls are all calls of the configuration by address, the nested ones
# too: module_calls/net/module/module_calls/subnets is module.net.module.subnets.
module_calls contains {"address": concat(".", address), "source": call.source} if {
	walk(input.configuration.root_module, [path, call])
	count(path) % 3 == 2
	every i, step in path {
		step == ["module_calls", step, "module"][i % 3]
	}
	address := [part | some i, step in path; i % 3 == 1; part := concat(".", ["module", step])]
}

allowed_sources := [`^\./modules/`, `^registry\.opentofu\.org/acme/`, `^git::https://github\.com/acme/`]

deny contains result if {
	some call in module_calls
	every pattern in allowed_sources {
		not regex.match(pattern, call.source)
	}
	result := finding("module-sources", call, "modules come from this repository, our registry or our organisation")
}

warn contains result if {
	some rc in writes
	type_is(rc, ["terraform_data"])
	violates(rc, {"path": ["input", "name"], "op": "matches", "value": "^[a-z]+(-[a-z]+)*$"})
	result := finding("name-convention", rc, "names are lowercase words joined by dashes")
}
