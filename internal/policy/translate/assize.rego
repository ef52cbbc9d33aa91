package main

import rego.v1

# What stands here, up to the first rule, is the same in every file that assize compiles: what a rule
# selects, what stands at a path, and when an operator holds. Everything is named assize_, so that it
# can stand beside policies that are written by hand.

# A plan that cannot be judged is no pass: what is no plan at all, what says that it failed, what does
# something unknown. Assize refuses such a plan before any policy sees it; opa and conftest do not.
deny contains {"msg": concat("", ["this plan cannot be judged: ", why]), "rule": "plan"} if some why in assize_unusable

assize_unusable contains "it is no plan, which is what `tofu show -json plan.out` prints" if {
	not input.resource_changes
	not assize_shown
}

assize_shown if {
	input.format_version
	not input.values
	not input.lineage
	not input.serial
}

assize_unusable contains "it ended in an error" if input.errored == true

assize_unusable contains "its format version is not known" if {
	major := split(input.format_version, ".")[0]
	not major in ["", "0", "1"]
}

assize_unusable contains "a change without an address" if {
	some rc in input.resource_changes
	assize_text(rc, "address") == ""
}

assize_unusable contains "a change that is not described in text" if {
	some rc in input.resource_changes
	some key in ["address", "previous_address", "deposed", "mode", "type", "name", "action_reason"]
	not is_string(object.get(rc, key, ""))
	object.get(rc, key, "") != null
}

assize_unusable contains "an action that is not known" if {
	some rc in input.resource_changes
	not assize_action(rc)
}

assize_unusable contains "two changes of one object" if {
	ids := [[rc.address, assize_text(rc, "deposed")] | some rc in input.resource_changes]
	count(ids) != count({id | some id in ids})
}

# assize_selected are the changes that a rule looks at. A rule over addresses looks at an object that
# was moved under its previous address too.
assize_selected(rule) := [rc |
	some rc in input.resource_changes
	assize_mode(rc) in rule.mode
	assize_acts(rule, rc)
	assize_globs(object.get(rule, "type", []), [assize_type(rc)])
	assize_globs(object.get(rule, "address", []), assize_addresses(rc))
]

assize_acts(rule, _) if not rule.actions

assize_acts(rule, rc) if assize_action(rc) in rule.actions

# assize_globs holds when one of the globs matches one of the texts. No glob at all matches everything.
assize_globs([], _)

assize_globs(globs, texts) if {
	some glob in globs
	some text in texts
	regex.match(assize_regex(glob), text)
}

# assize_regex is a glob as a regular expression: * is any run of characters, ? is one, the rest is
# literal. To glob.match, brackets and braces would be classes and choices.
assize_regex(glob) := concat("", ["^(?s:", replace(replace(literal, "?", "."), "*", ".*"), ")$"]) if {
	literal := regex.replace(glob, `[\\.+()|\[\]{}^$]`, `\$0`)
}

assize_addresses(rc) := [address |
	some address in [assize_text(rc, "address"), assize_text(rc, "previous_address")]
	address != ""
]

# Old and redacted plans leave mode and type out, but an address holds both.
assize_mode(rc) := [mode | some mode in [assize_text(rc, "mode"), assize_part(rc, 2), "managed"]; mode != ""][0]

assize_type(rc) := array.concat([type | some type in [assize_text(rc, "type"), assize_part(rc, 3)]; type != ""], [""])[0]

assize_part(rc, i) := array.concat([part | part := regex.find_all_string_submatch_n(assize_form, rc.address, 1)[0][i]], [""])[0]

# The parts are the module, the mode, the type and the name.
assize_form := `^((?:module\.[^.\[]+(?:\[(?:"(?:[^"\\]|\\.)*"|\d+)\])?\.)*)(?:(data|ephemeral)\.)?([^.\[]+)\.([^.\[]+)`

assize_action(rc) := {
	["no-op"]: "no-op",
	["create"]: "create",
	["read"]: "read",
	["update"]: "update",
	["delete"]: "delete",
	["forget"]: "forget",
	["delete", "create"]: "replace",
	["create", "delete"]: "replace",
	["create", "forget"]: "create,forget",
	["forget", "create"]: "forget,create",
}[rc.change.actions]

assize_action(rc) := "read" if {
	rc.change.actions in [["open"], ["Open"]]
	assize_mode(rc) == "ephemeral"
}

assize_label(rc) := "replace (create before destroy)" if rc.change.actions == ["create", "delete"]

else := assize_action(rc)

# A node is a place in the values of a change, with what the plan's maps say of it; each map is a
# boolean, an object, a list or null at every level. Where a walk ends early, state says how, and at
# goes on to the first [*], where it is fixed: of elements that are not known nothing can be said.
#
# What is deleted or forgotten has no planned values; those that stand there now are looked at.
assize_start(rc) := [assize_node("", values, null, object.get(rc.change, "before_sensitive", null))] if {
	assize_action(rc) in ["delete", "forget"]
	values := [value | value := rc.change.before; value != null]
}

else := [assize_node("", values, unknown, object.get(rc.change, "after_sensitive", null))] if {
	values := [value | value := rc.change.after; value != null]
	unknown := object.get(rc.change, "after_unknown", null)
}

# assize_node is a node at which the first of values stands, or nothing.
assize_node(at, values, unknown, sensitive) := {
	"at": at,
	"state": "",
	"fixed": false,
	"exists": count(values) > 0,
	"value": value,
	"unknown": unknown,
	"sensitive": assize_fitted(sensitive, value),
} if {
	value := array.concat(values, [null])[0]
}

# assize_misfit holds where a map of marks cannot be walked along with a value: it marks a part, and
# nobody can say which.
assize_misfit(marks, value) if {
	is_object(marks)
	not is_object(value)
	value != null
	assize_any_true(marks)
}

assize_misfit(marks, value) if {
	is_array(marks)
	not is_array(value)
	value != null
	assize_any_true(marks)
}

# assize_fitted is marks of sensitivity as far as they fit: otherwise all of the value is sensitive.
assize_fitted(marks, value) if assize_misfit(marks, value)

else if {
	is_array(marks)
	is_array(value)
	count(marks) != count(value)
	assize_any_true(marks)
}

else := marks

# assize_down takes one step, a key or an index; a bare number may lead into both, so it is two of them.
# text is the step as it stands in a path.
assize_down(nodes, step, text) := [assize_child(node, step, text) | some node in nodes]

assize_child(node, step, text) := {"at": concat("", [node.at, text]), "state": state, "fixed": false} if {
	not node.fixed
	state := assize_stopped(node)
}

else := object.union(node, {"state": state}) if state := assize_stopped(node)

else := assize_node(concat("", [node.at, text]), values, unknown, sensitive) if {
	inside := assize_inside(node.value)
	values := [value | some key in step; value := inside[key]]
	unknown := assize_mark(node.unknown, step)
	sensitive := assize_mark(assize_sensitive(node), step)
}

# assize_stopped is how a walk ends before it takes a step. That something is unknown is asked first:
# what stands there is the provider's guess, or nothing.
assize_stopped(node) := node.state if node.state != ""

else := state if state := assize_hidden(node)

else := "removed" if assize_removed(node)

else := "unreadable" if assize_unreadable(node.value)

assize_hidden(node) := "misfit" if assize_misfit(node.unknown, node.value)

else := "unknown" if node.unknown == true

# Terraform 0.14 printed null in place of a secret: there is a value, which the plan does not show.
assize_removed(node) if {
	node.exists
	node.value == null
	input.format_version == "0.1"
	assize_any_true(node.sensitive)
}

# assize_mark is one step in a map of marks: true holds for everything below it.
assize_mark(mark, step) if mark == true

else := array.concat([below | some key in step; below := mark[key]], [null])[0]

# A map of marks describes the plan's own values. It says nothing of what is inside a text.
assize_sensitive(node) := null if {
	assize_is_json(node.value)
	node.sensitive != true
}

else := node.sensitive

# assize_each goes to every element. Where nothing has elements, one node says so, and an empty
# container is one more, which only "exists" takes for a violation. text is the rest of the path.
assize_each(nodes, text) := array.concat(
	[{"at": concat("", [node.at, text]), "state": "empty", "fixed": true} |
		some node in nodes
		node.state == ""
		assize_empty(node.value)
		not assize_any_true(node.unknown)
	],
	[element | some node in nodes; some element in assize_elements(node, text)],
)

assize_elements(node, text) := [object.union(node, {"state": state, "fixed": true})] if state := assize_stopped(node)

else := [assize_element(node, key, text) | some key in keys] if {
	keys := assize_keys(assize_inside(node.value), node.unknown)
}

else := [object.union(node, {"state": "missing", "fixed": true})]

# One object where a list of them was meant, as IAM allows: what the path asks for stands here, and to
# miss it below would pass.
assize_element(node, key, text) := {"at": child.at, "state": "scalar", "fixed": true} if {
	is_string(key)
	text != "[*]"
	child := assize_child(node, assize_step(key), assize_member(node, key))
	assize_scalar(child)
}

else := assize_child(node, assize_step(key), assize_member(node, key))

# assize_scalar holds for a known value that has nothing below it.
assize_scalar(node) if {
	node.unknown != true
	node.value != null
	not is_array(node.value)
	not is_object(node.value)
	not assize_is_json(node.value)
}

# assize_member is the step to an element. The keys of a secret are part of it: nobody is told them.
assize_member(node, key) := "[*]" if {
	is_string(key)
	node.sensitive == true
}

else := assize_text_of(node.at, key)

# assize_keys are the keys and indices of all elements, unknown ones included; it is undefined where
# there is no container.
assize_keys(value, unknown) := {i | some i, _ in value} | {i | is_array(unknown); some i, _ in unknown} if is_array(value)

else := object.keys(value) | {key | is_object(unknown); some key, mark in unknown; assize_any_true(mark)} if is_object(value)

else := {i | some i, _ in unknown} if {
	value == null
	is_array(unknown)
	assize_any_true(unknown)
}

else := {key | some key, mark in unknown; assize_any_true(mark)} if {
	value == null
	is_object(unknown)
	assize_any_true(unknown)
}

# assize_step is a key or an index as assize_down takes it.
assize_step(key) := [key, to_number(key)] if {
	is_string(key)
	regex.match(`^(0|[1-9][0-9]{0,9})$`, key)
}

else := [key]

# assize_text_of writes a step as paths do: what is no plain key stands in brackets, as JSON.
assize_text_of(_, key) := sprintf("[%d]", [key]) if is_number(key)

assize_text_of(_, key) := concat("", ["[", assize_quoted(key), "]"]) if {
	is_string(key)
	not assize_is_plain(key)
}

assize_text_of("", key) := key if assize_is_plain(key)

assize_text_of(at, key) := concat(".", ["", key]) if {
	at != ""
	assize_is_plain(key)
}

assize_is_plain(key) if {
	is_string(key)
	regex.match(`^[^.\[\]"\\\x00-\x20\x7f]+$`, key)
	key != "*"
}

# assize_quoted is a text as JSON; json.marshal escapes for HTML as well, which is undone.
assize_quoted(text) := strings.replace_n({`\\`: `\\`, `\u003c`: "<", `\u003e`: ">", `\u0026`: "&"}, json.marshal(text))

# assize_found is what stands at the end of a path, for each node there.
assize_found(nodes) := [found | some node in nodes; found := assize_end(node)]

assize_end(node) := node if node.state != ""

else := {"at": node.at, "state": state} if state := assize_hidden(node)

else := {"at": node.at, "state": "unknown"} if {
	node.value == null
	assize_any_true(node.unknown)
}

else := {"at": node.at, "state": "removed"} if assize_removed(node)

else := {"at": node.at, "state": "missing"} if node.value == null

else := {"at": node.at, "state": "present", "value": node.value, "part": assize_hidden_part(node)}

# assize_hidden_part is the state of a part of a value that is not there to be compared, or nothing.
assize_hidden_part(node) := "misfit" if {
	assize_any_true(node.unknown)
	walk(node.value, [path, value])
	assize_misfit(assize_under(node.unknown, path), value)
}

else := "removed" if {
	input.format_version == "0.1"
	assize_any_true(node.sensitive)
	walk(node.value, [path, null])
	not assize_any_true(assize_under(node.unknown, path))
	above := [array.slice(path, 0, n) | some n in numbers.range(0, count(path))]
	not true in [assize_under(node.unknown, prefix) | some prefix in above]
	some prefix in above
	marks := assize_fitted(assize_under(node.sensitive, prefix), assize_under(node.value, prefix))
	true in {marks, assize_any_true(assize_under(node.sensitive, path))}
}

else := "unknown" if assize_any_true(node.unknown)

else := ""

# assize_under is what stands at a path in a value or a map of marks, or null.
assize_under(value, path) := object.get({"": value}, array.concat([""], path), null)

# assize_empty holds for what has no elements, also where it stands in a text.
assize_empty([])

assize_empty({})

assize_empty(value) if {
	is_string(value)
	regex.replace(value, `[\s\v\x{85}\p{Z}\x{feff}]`, "") in ["[]", "{}"]
}

assize_any_true(mark) := {x | walk(mark, [_, x]); x == true} != set()

# A path may go on inside a text that holds a JSON object or list, behind more white space than JSON
# allows. A text that looks like one and is not, or says a key twice, cannot be checked.
assize_is_json(value) if {
	is_string(value)
	regex.match(`^[\s\v\x{85}\p{Z}\x{feff}]*[{\[]`, value)
}

assize_inside(value) := json.unmarshal(assize_trimmed(value)) if assize_is_json(value)

else := value

assize_trimmed(text) := regex.replace(text, `^[\s\v\x{85}\p{Z}\x{feff}]+`, "")

assize_unreadable(value) if {
	assize_is_json(value)
	not assize_readable(assize_trimmed(value))
}

assize_readable(text) if {
	json.is_valid(text)

	# Half a character.
	whole := regex.replace(text, `\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`, "-")
	not regex.match(`\\u[dD][89a-fA-F]`, whole)

	# A number that OPA does not hold, which would stop it.
	numbers := regex.replace(text, `"(?:[^"\\]|\\.)*"`, "")
	not regex.match(`[0-9]{1000}|[eE][+-]?0*[1-9][0-9]{4}`, numbers)

	# A key that is there twice is in the text more often than in what it holds.
	said := [key | some key in regex.find_n(`"(?:[^"\\]|\\.)*"[ \t\r\n]*:?`, text, -1); endswith(key, ":")]
	held := [key | walk(json.unmarshal(text), [_, object]); is_object(object); some key, _ in object]
	count(said) == count(held)
}

# assize_uncheckable says what keeps a value from being checked: none of it is what a rule may allow
# with "unknown".
assize_uncheckable := {
	"misfit": "marked as unknown in another shape than it has",
	"removed": "removed from the plan because it is sensitive",
	"scalar": "no object",
	"unreadable": "text that looks like JSON and is not",
}

# assize_problem is what is wrong with a value, if anything. No value of the plan is quoted, because
# Rego cannot tell which of them are secret: the plan's maps do not mark every copy of one.
assize_problem(_, found) := concat("", [found.at, " is ", assize_uncheckable[found.state], ", so it cannot be checked"])

assize_problem(rule, found) := concat("", [found.at, " is known after apply, so it cannot be checked at plan time"]) if {
	found.state == "unknown"
	rule.unknown != "allow"
}

assize_problem(rule, found) := concat("", [found.at, " is missing"]) if {
	found.state in ["missing", "empty"]
	rule.op == "exists"
}

assize_problem(rule, found) := concat("", [found.at, " is set"]) if {
	found.state == "present"
	rule.op == "absent"
}

assize_problem(rule, found) := concat("", ["part of ", found.at, " is known after apply, so it cannot be checked at plan time"]) if {
	found.state == "present"
	assize_uncertain(rule, found)
	found.part == "unknown"
	rule.unknown != "allow"
}

assize_problem(rule, found) := concat("", ["part of ", found.at, " is ", assize_uncheckable[found.part], ", so it cannot be checked"]) if {
	found.state == "present"
	assize_uncertain(rule, found)
}

assize_problem(rule, found) := concat(" ", [found.at, rule.problem]) if {
	found.state == "present"
	not rule.op in ["exists", "absent"]
	not assize_uncertain(rule, found)
	not assize_holds(rule.op, rule.value, found.value)
}

# A container of which a part is unknown proves nothing as a whole.
assize_uncertain(rule, found) if {
	rule.op in ["eq", "ne", "in", "not_in"]
	found.part != ""
}

# assize_holds asks for types first: Rego orders values of different types.
assize_holds("eq", want, value) if value == want

assize_holds("ne", want, value) if value != want

assize_holds("in", want, value) if value in want

assize_holds("not_in", want, value) if not value in want

assize_holds("matches", want, value) if {
	is_string(value)
	regex.match(want, value)
}

assize_holds("not_matches", want, value) if {
	is_string(value)
	not regex.match(want, value)
}

assize_holds("lt", want, value) if {
	is_number(value)
	value < want
}

assize_holds("lte", want, value) if {
	is_number(value)
	value <= want
}

assize_holds("gt", want, value) if {
	is_number(value)
	value > want
}

assize_holds("gte", want, value) if {
	is_number(value)
	value >= want
}

# assize_event is what a change does that a rule forbids.
assize_event(rule, rc) := concat("", [what, assize_reason(rc), assize_move(rule, rc)]) if {
	what := assize_deed(rule.check, rc)
}

assize_deed("no_delete", rc) := concat(" ", ["the plan would", assize_label(rc), assize_protected(rc)]) if {
	"delete" in rc.change.actions
}

assize_deed("no_replace", rc) := "the plan would destroy and recreate it" if assize_action(rc) == "replace"

assize_deed("no_forget", rc) := concat("", [
	"the plan would forget ", assize_protected(rc),
	"; the object stays, and nothing manages it any more",
]) if {
	"forget" in rc.change.actions
}

assize_deed("no_import", rc) := "the plan would import it" if object.get(rc.change, "importing", null) != null

assize_protected(rc) := "a protected address" if assize_text(rc, "deposed") == ""

else := concat("", ["a deposed object (", rc.deposed, ") of a protected address"])

assize_reason(rc) := "" if assize_text(rc, "action_reason") == ""

else := concat("", ["; reason ", rc.action_reason])

assize_move(rule, rc) := concat("", ["; it was moved from ", rc.previous_address]) if {
	assize_text(rc, "previous_address") != ""
	not assize_globs(object.get(rule, "address", []), [rc.address])
}

else := ""

# assize_deletes counts what the plan destroys, replacements and deposed objects too.
assize_deletes(rule) := concat("", ["the plan destroys ", assize_count(n, "resource"), ", want at most ", json.marshal(rule.value)]) if {
	n := count([rc | some rc in assize_selected(rule); "delete" in rc.change.actions])
	n > rule.value
}

# assize_checks are the configuration's own checks that a rule looks at.
assize_checks(rule) := [check |
	some said in input.checks
	check := {"address": assize_text(assize_get(said, "address"), "to_display"), "status": assize_text(said, "status")}
	assize_globs(object.get(rule, "address", []), [check.address])
]

assize_check_problem(rule, "unknown") := "the check is known after apply, so it cannot be checked at plan time" if rule.unknown != "allow"

assize_check_problem(_, "fail") := "the check fails"

assize_check_problem(_, "error") := "the check ended in an error"

assize_check_problem(_, status) := concat(" ", ["the check has the status", assize_quoted(status)]) if {
	not status in ["pass", "unknown", "fail", "error"]
}

# assize_incomplete is why the plan is not the whole change.
assize_incomplete := concat("; ", why) if {
	why := array.concat(
		["the tool says that it is not complete" | input.complete == false],
		[concat(" ", [assize_count(n, "change"), "left for another plan"]) | n := count(input.deferred_changes); n > 0],
	)
	count(why) > 0
}

assize_count(n, noun) := sprintf("%d %s", [n, noun]) if n == 1

else := sprintf("%d %ss", [n, noun])

assize_get(object, key) := value if value := object[key]

else := null

assize_text(object, key) := object[key] if is_string(object[key])

else := ""

# assize_finding is one result, without what it is not about.
assize_finding(rule, thing, path, problem) := {key: value |
	some key, value in {
		"msg": concat(": ", [rule.message, problem]),
		"rule": rule.id,
		"address": assize_text(thing, "address"),
		"deposed": assize_text(thing, "deposed"),
		"path": path,
	}
	value != ""
}
