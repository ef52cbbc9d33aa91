package storage.disks

warn_big contains {"msg": "a big disk", "address": rc.address} if {
	some rc in input.resource_changes
	rc.change.after.input.disk_gb >= 1000
}
