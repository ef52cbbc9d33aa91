package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// A resource is one kind of object that a generated plan is made of: the
// attributes it has when it is as the policies want it, and what is wrong with
// the few that are not.
type resource struct {
	kind      string
	rule      string // the rule that the wrong ones violate
	right     string // attributes, as members of a JSON object
	old, bad  string // replaces old in right by bad
	sensitive string // the sensitivity map
	deleted   bool   // wrong is not how it looks but that it goes
}

// resources are the kinds, in the order in which they come. Their attributes
// are a selection of those that the provider has, so that a hundred thousand
// changes make about a hundred megabytes.
var resources = []resource{
	{"aws_instance", "instance-type",
		`"instance_type":"m6i.large","monitoring":true,"tags":{"owner":"team-payments","env":"prod"}`,
		`m6i.large`, `x2iedn.32xlarge`, `{}`, false},
	{"aws_ebs_volume", "volume-size",
		`"size":120,"type":"gp3","iops":3000,"encrypted":true,"tags":{"owner":"team-data"}`,
		`"size":120`, `"size":16000`, `{}`, false},
	{"aws_security_group", "open-ingress",
		`"name":"service","ingress":[{"from_port":443,"to_port":443,"cidr_blocks":["10.0.0.0/8","10.4.0.0/16"]}]`,
		`10.4.0.0/16`, `0.0.0.0/0`, `{"ingress":[{"cidr_blocks":[false,false]}]}`, false},
	{"aws_s3_bucket_acl", "public-bucket",
		`"acl":"private","bucket":"northwind-assets","expected_bucket_owner":"111122223333"`,
		`"acl":"private"`, `"acl":"public-read"`, `{}`, false},
	{"aws_db_instance", "database-goes",
		`"engine":"postgres","allocated_storage":200,"username":"orders","password":"correct-horse-battery-staple"`,
		``, ``, `{"password":true}`, true},
	{"aws_iam_policy", "admin-policy",
		`"policy":"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"s3:GetObject\",\"Resource\":\"arn:aws:s3:::assets/*\"}]}"`,
		`s3:GetObject`, `*`, `{}`, false},
	{"aws_lambda_function", "runtime",
		`"handler":"main.handler","runtime":"python3.12","memory_size":512,"architectures":["arm64"]`,
		`python3.12`, `nodejs12.x`, `{"architectures":[false]}`, false},
	{"aws_route53_record", "short-ttl",
		`"name":"api.northwind.example","type":"A","ttl":300,"records":["10.0.12.7","10.0.13.9"]`,
		`"ttl":300`, `"ttl":5`, `{"records":[false,false]}`, false},
	{"aws_db_subnet_group", "owner",
		`"name":"orders","subnet_ids":["subnet-0bb1c79d","subnet-0cc2d80e"],"tags":{"owner":"team-orders","env":"prod"}`,
		`"owner":"team-orders",`, ``, `{"tags":{}}`, false},
	{"aws_ebs_snapshot", "encryption",
		`"volume_id":"vol-049df61146c4d7901","encrypted":true,"volume_size":120`,
		`"encrypted":true`, `"encrypted":false`, `{}`, false},
}

// A change is one object of a generated plan.
type change struct {
	resource
	n     int
	wrong bool
}

func (c change) address() string {
	return fmt.Sprintf("module.estate[%d].%s.it", c.n/len(resources), c.kind)
}

// actions are a plan of an estate that exists: most of it is left alone.
func (c change) actions() string {
	switch {
	case c.wrong && c.deleted:
		return `["delete"]`
	case c.wrong || c.n/len(resources)%4 == 1:
		return `["update"]`
	case c.n/len(resources)%40 == 2:
		return `["create"]`
	}
	return `["no-op"]`
}

func (c change) after() string {
	if c.wrong {
		return strings.Replace(c.right, c.old, c.bad, 1)
	}
	return c.right
}

// changes returns n of them. The last of each kind is wrong, so each of the
// ten rules is violated once.
func changes(n int) []change {
	all := make([]change, n)
	for i := range all {
		all[i] = change{resources[i%len(resources)], i, i >= n-len(resources)}
	}
	return all
}

// writePlan writes a plan of n changes as a tool would: with the prior state
// and the planned values of everything.
func writePlan(to io.Writer, n int) error {
	w := bufio.NewWriterSize(to, 1<<20)
	all := changes(n)
	fmt.Fprint(w, `{"format_version":"1.2","terraform_version":"1.12.6","planned_values":{"root_module":{"child_modules":[`)
	values(w, all, func(c change) string { return c.after() }, "delete")
	fmt.Fprint(w, `]}},"resource_changes":[`)
	for i, c := range all {
		before, after, was, is := "{"+c.right+"}", "{"+c.after()+"}", c.sensitive, c.sensitive
		switch c.actions() {
		case `["create"]`:
			before, was = "null", "false"
		case `["delete"]`:
			after, is = "null", "false"
		}
		fmt.Fprintf(w, `%s{"address":%q,"module_address":"module.estate[%d]","mode":"managed","type":%q,"name":"it","provider_name":"registry.opentofu.org/hashicorp/aws","change":{"actions":%s,"before":%s,"after":%s,"after_unknown":{},"before_sensitive":%s,"after_sensitive":%s}}`,
			comma(i), c.address(), c.n/len(resources), c.kind, c.actions(), before, after, was, is)
	}
	fmt.Fprint(w, `],"prior_state":{"format_version":"1.0","terraform_version":"1.12.6","values":{"root_module":{"child_modules":[`)
	values(w, all, func(c change) string { return c.right }, "create")
	fmt.Fprint(w, `]}}},"configuration":{"root_module":{"module_calls":{"estate":{"source":"./estate","module":{}}}}},"timestamp":"2026-01-01T00:00:00Z","applyable":true,"complete":true,"errored":false}`)
	return w.Flush()
}

// values writes the child modules of a state: every object but those that the
// plan does except to.
func values(w io.Writer, all []change, attributes func(change) string, except string) {
	open, first := -1, true
	for _, c := range all {
		if module := c.n / len(resources); module != open {
			if open >= 0 {
				fmt.Fprint(w, `]},`)
			}
			fmt.Fprintf(w, `{"address":"module.estate[%d]","resources":[`, module)
			open, first = module, true
		}
		if c.actions() == `["`+except+`"]` {
			continue
		}
		if !first {
			fmt.Fprint(w, ",")
		}
		first = false
		fmt.Fprintf(w, `{"address":%q,"mode":"managed","type":%q,"name":"it","provider_name":"registry.opentofu.org/hashicorp/aws","schema_version":0,"values":{%s},"sensitive_values":%s}`,
			c.address(), c.kind, attributes(c), c.sensitive)
	}
	fmt.Fprint(w, `]}`)
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}
