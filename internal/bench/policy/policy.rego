# The ten rules of rules.yaml, as a team writes them for conftest.
package main

import rego.v1

changed(kind) := [rc |
	some rc in input.resource_changes
	rc.type == kind
	some action in rc.change.actions
	action in {"create", "update"}
]

finding(rule, rc, msg) := {"msg": sprintf("%s: %s", [rc.address, msg]), "rule": rule, "address": rc.address}

deny contains finding("instance-type", rc, "instances come in sizes that somebody pays for") if {
	some rc in changed("aws_instance")
	not rc.change.after.instance_type in {"t3.micro", "t3.small", "m6i.large", "m6i.xlarge"}
}

deny contains finding("volume-size", rc, "disks above 500 GB need a capacity review") if {
	some rc in changed("aws_ebs_volume")
	rc.change.after.size > 500
}

deny contains finding("open-ingress", rc, "nothing listens to the whole world") if {
	some rc in changed("aws_security_group")
	some ingress in rc.change.after.ingress
	"0.0.0.0/0" in ingress.cidr_blocks
}

deny contains finding("public-bucket", rc, "buckets are private") if {
	some rc in changed("aws_s3_bucket_acl")
	rc.change.after.acl in {"public-read", "public-read-write"}
}

deny contains finding("database-goes", rc, "databases stay") if {
	some rc in input.resource_changes
	rc.type == "aws_db_instance"
	"delete" in rc.change.actions
}

deny contains finding("admin-policy", rc, "no policy allows everything") if {
	some rc in changed("aws_iam_policy")
	some statement in json.unmarshal(rc.change.after.policy).Statement
	statement.Action == "*"
}

deny contains finding("runtime", rc, "functions run on a supported runtime") if {
	some rc in changed("aws_lambda_function")
	not regex.match(`^python3\.1[0-9]$`, rc.change.after.runtime)
}

deny contains finding("short-ttl", rc, "a record lives a minute at least") if {
	some rc in changed("aws_route53_record")
	rc.change.after.ttl < 60
}

deny contains finding("owner", rc, "everything has an owner") if {
	some rc in changed("aws_db_subnet_group")
	not rc.change.after.tags.owner
}

deny contains finding("encryption", rc, "snapshots are encrypted") if {
	some rc in changed("aws_ebs_snapshot")
	rc.change.after.encrypted != true
}
