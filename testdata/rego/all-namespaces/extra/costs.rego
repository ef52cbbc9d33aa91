package costs

import data.lib.plan as p

warn contains msg if {
	n := count(p.created)
	n > 3
	msg := sprintf("%d new objects cost money", [n])
}
