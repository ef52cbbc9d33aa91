# Known after apply, with seed-like helpers: any prefix may be unknown.
package main

unknown(rc, path) if {
	some n in numbers.range(1, count(path))
	object.get(rc.change.after_unknown, array.slice(path, 0, n), false) == true
}

present(rc, path) if object.get(rc.change.after, path, null) != null

written contains rc if {
	some rc in input.resource_changes
	some action in rc.change.actions
	action in {"create", "update"}
}

paths := [["input", "parent"], ["input", "map", "k"], ["input"], ["input", "tags", "id"], ["output"]]

deny contains {"msg": msg, "address": rc.address} if {
	some rc in written
	some path in paths
	unknown(rc, path)
	msg := sprintf("%s is known after apply", [concat(".", path)])
}

deny contains {"msg": msg, "address": rc.address} if {
	some rc in written
	path := ["input", "tags", "owner"]
	not unknown(rc, path)
	not present(rc, path)
	msg := "input.tags.owner is missing"
}
