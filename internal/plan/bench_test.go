package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/plan"
)

// largePlan builds a plan of about size bytes the way a tool writes one: on one
// line, half of it changes (most of them no-ops), the rest planned values,
// prior state and configuration.
func largePlan(size int) []byte {
	var changes, planned, prior, config []string
	for i, n := 0, 0; n < size; i++ {
		address := fmt.Sprintf("module.m[%d].aws_instance.web[%q]", i%50, fmt.Sprint("k", i))
		values := fmt.Sprintf(`{"ami":"ami-%012x","arn":"arn:aws:ec2:eu-central-1:123456789012:instance/i-%017x","availability_zone":"eu-central-1a",`+
			`"cpu_core_count":%d,"ebs_optimized":false,"id":"i-%017x","instance_type":"m5.large","monitoring":true,"root_block_device":[{"encrypted":true,`+
			`"iops":3000,"volume_size":%d,"volume_type":"gp3","tags":{}}],"security_groups":["sg-1","sg-2"],"tags":{"Name":"web %d","owner":"team-data",`+
			`"kubernetes.io/name":"x"},"tags_all":null,"user_data":null,"vpc_security_group_ids":[]}`, i, i, i%64, i, i%1000, i)
		meta := fmt.Sprintf(`"address":%q,"module_address":"module.m[%d]","mode":"managed","type":"aws_instance","name":"web","index":"k%d","provider_name":"registry.terraform.io/hashicorp/aws"`,
			address, i%50, i)
		actions, unknown := `["no-op"]`, `{}`
		if i%10 == 0 {
			actions, unknown = `["update"]`, `{"arn":true,"tags_all":true}`
		}
		change := fmt.Sprintf(`{%s,"change":{"actions":%s,"before":%s,"after":%s,"after_unknown":%s,"before_sensitive":{"tags":{}},"after_sensitive":{"root_block_device":[{"tags":{}}],"tags":{}}}}`,
			meta, actions, values, values, unknown)
		state := fmt.Sprintf(`{%s,"schema_version":1,"values":%s,"sensitive_values":{"root_block_device":[{"tags":{}}],"tags":{}}}`, meta, values)
		expr := fmt.Sprintf(`{"address":"aws_instance.web","mode":"managed","type":"aws_instance","name":"web%d","expressions":{"ami":{"references":["var.ami"]}}}`, i)
		changes, planned = append(changes, change), append(planned, state)
		prior, config = append(prior, state), append(config, expr)
		n += len(change) + 2*len(state) + len(expr)
	}
	list := func(items []string) string { return strings.Join(items, ",") }
	return fmt.Appendf(nil, `{"format_version":"1.2","terraform_version":"1.12.6","planned_values":{"root_module":{"resources":[%s]}},"resource_changes":[%s],`+
		`"prior_state":{"format_version":"1.0","values":{"root_module":{"resources":[%s]}}},"configuration":{"root_module":{"resources":[%s]}},"errored":false}`,
		list(planned), list(changes), list(prior), list(config))
}

func BenchmarkDecode(b *testing.B) {
	raw := largePlan(20 << 20)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := plan.Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}
