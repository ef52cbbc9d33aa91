# What one stack of an environment may cost in a month. A rule about a resource
# cannot see the sum, and who adds a zone to a network does not have the price
# of everything in mind that follows it there.
package main

import rego.v1

budget_eur := {"dev": 120, "staging": 200, "prod": 900}

environment := input.variables.environment.value

limit := budget_eur[environment]

# All that will be there, whether this plan changes it or not.
present contains rc if {
	some rc in input.resource_changes
	rc.type == "terraform_data"
	rc.change.after != null
}

priced(rc) if is_number(rc.change.after.input.monthly_eur)

deny contains result if {
	cost := sum([rc.change.after.input.monthly_eur | some rc in present; priced(rc)])
	cost > limit
	result := {
		"rule": "budget",
		"msg": sprintf("%s would cost %d EUR a month here, and may cost %d", [environment, cost, limit]),
	}
}

# What cannot be added up is not "within the budget". Rego's "not" takes a whole
# rule here: of an expression with a value that is missing it says nothing.
deny contains {"rule": "budget", "msg": "there is no budget for this environment"} if not limit

deny contains result if {
	some rc in present
	not priced(rc)
	result := {"rule": "price", "msg": "monthly_eur is missing, or known only after the apply", "address": rc.address}
}
