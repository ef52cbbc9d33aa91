package main

import data.lib.plan

deny contains plan.finding("destroy", rc) if {
	some rc in plan.destroyed
}
