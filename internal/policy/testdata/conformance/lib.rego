# What a Rego author needs to judge a plan as strictly as rules do.
#
# Rego knows defined and undefined; in a plan, a value is present, null, missing,
# or known only after apply. Ask for it with found or known, and say what is
# allowed: `not v in {"small"}` denies what nobody has seen yet, `v == "huge"`
# lets it pass. Rego also orders across types (true < 5), so ask is_number first.
package lib

# written holds the managed objects that the plan creates, updates or replaces.
written contains rc if {
	some rc in input.resource_changes
	rc.mode == "managed"
	some action in rc.change.actions
	action in {"create", "update"}
}

# replaced holds for an object that is destroyed and created again, in either
# order.
replaced(rc) if {
	"create" in rc.change.actions
	"delete" in rc.change.actions
}

# unknown holds where the value at path, or anything it is part of, is known
# only after apply.
unknown(rc, path) if {
	some n in numbers.range(0, count(path))
	object.get(rc.change, array.concat(["after_unknown"], array.slice(path, 0, n)), false) == true
}

# after_apply stands for what is known only after apply, as in the document that
# CUE policies see.
after_apply := {"$unknown": true}

# known lists the value at path: nothing where it is unknown, missing or null.
known(rc, path) := [v |
	not unknown(rc, path)
	v := object.get(rc.change.after, path, null)
	v != null
]

# found is known, but [after_apply] where the value is unknown.
found(rc, path) := [after_apply] if unknown(rc, path)

found(rc, path) := known(rc, path) if not unknown(rc, path)

# whole is found for values that are compared as a whole: an object or list of
# which a part is unknown is after_apply as well.
whole(rc, path) := [after_apply] if partly_unknown(rc, path)

whole(rc, path) := found(rc, path) if not partly_unknown(rc, path)

partly_unknown(rc, path) if {
	some part
	walk(object.get(rc.change, array.concat(["after_unknown"], path), false), [part, true])
}

# elements holds the path of each element of a list and each value of a map,
# those that are not known yet included. Where the container is not known, it is
# the path of that, so that found says so.
elements(rc, path) := {path} if unknown(rc, path)

elements(rc, path) := visible | hidden if {
	not unknown(rc, path)
	visible := {array.concat(path, [i]) | some i, _ in object.get(rc.change.after, path, [])}
	hidden := {array.concat(path, [i]) |
		some i, mark in object.get(rc.change, array.concat(["after_unknown"], path), [])
		walk(mark, [_, true])
	}
}

# decoded is what a text holds that is JSON; it is undefined for any other. One
# that says a key twice is none: json.unmarshal keeps the last, and another
# reader the first.
decoded(text) := value if {
	json.is_valid(text)
	value := json.unmarshal(text)
	said := [key | some key in regex.find_n(`"(?:[^"\\]|\\.)*"\s*:?`, text, -1); endswith(key, ":")]
	kept := [key | walk(value, [_, object]); is_object(object); some key, _ in object]
	count(said) == count(kept)
}

# selects holds where a glob matches the address of an object, or the one it was
# moved from. As in rules, only * and ? are special: brackets are literal.
selects(rc, pattern) if glob.match(literal_brackets(pattern), null, rc.address)

selects(rc, pattern) if glob.match(literal_brackets(pattern), null, rc.previous_address)

literal_brackets(pattern) := strings.replace_n({"[": `\[`, "]": `\]`, "{": `\{`, "}": `\}`, `\`: `\\`}, pattern)

# finding says that an object violates a rule.
finding(rule, rc) := object.union(
	{"msg": sprintf("%s violates %s", [rc.address, rule]), "rule": rule, "address": rc.address},
	object.filter(rc, ["deposed"]),
)

# module_calls are the module blocks of the configuration, nested ones too, by
# the address that rules give them: module_calls/net/module/module_calls/subnets
# is module.net.module.subnets.
module_calls contains {"address": concat(".", names), "source": call.source} if {
	walk(input.configuration.root_module, [path, call])
	count(path) % 3 == 2
	every i, step in path {
		step == ["module_calls", step, "module"][i % 3]
	}
	names := [concat(".", ["module", step]) | some i, step in path; i % 3 == 1]
}
