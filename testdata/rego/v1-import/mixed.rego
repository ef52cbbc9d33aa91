package main

import future.keywords

warn contains msg if {
	count(input.resource_changes) > 40
	msg := "a big plan"
}
