# conftest loads the tests of a policy with it; they are no rules.
package main

import data.rules.shared

test_create if {
	print("a test may print")
	count(deny) == 1 with input as {"resource_changes": [change("create")]}
	shared.writes
}

change(action) := {"address": "a.b", "change": {"actions": [action]}}
