package preview_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/preview"
)

// TestNative compares a preview with the plan that is made once the upstream was
// applied: all that may differ is what has become known.
func TestNative(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"known": {"-var=n=y"}, "unknown": {"-replace=terraform_data.id"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEstate(t, network+`
-- app/main.tf --
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "../net/terraform.tfstate" }
}
module "m" { source = "../m" }
-- m/main.tf --
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "../net/terraform.tfstate" }
}
resource "terraform_data" "this" { input = data.terraform_remote_state.net.outputs.name }
`)
			e.init("net", "app")
			e.apply("net")
			e.apply("app")
			raw := e.preview("app", e.net(args...)).Raw
			got, err := preview.Native(raw)
			e.check(err)
			e.must(e.tofu(e.root+"/net", nil, append([]string{"apply", "-auto-approve"}, args...)...))
			want := e.plan("app").Raw
			if diff := cmp.Diff(e.comparable(want), e.comparable(got)); diff != "" {
				t.Errorf("(-real +preview)\n%s", diff)
			}
			if strings.Contains(string(got), "preview") {
				t.Errorf("it shows what it was made with:\n%s", got)
			}
		})
	}
}

// comparable is a plan's JSON without what differs from one to the next: when it
// was made, what is read only at the apply, and where a provider is noted.
func (e *estate) comparable(raw []byte) map[string]any {
	e.Helper()
	var doc map[string]any
	e.check(json.Unmarshal(bytes.ReplaceAll(raw, []byte(`"module.m:terraform"`), []byte(`"terraform"`)), &doc))
	delete(doc["configuration"].(map[string]any), "provider_config")
	delete(doc, "timestamp")
	prior := doc["prior_state"].(map[string]any)["values"].(map[string]any)["root_module"].(map[string]any)
	dropData(prior)
	return doc
}

func dropData(module map[string]any) {
	var kept []any
	all, _ := module["resources"].([]any)
	for _, r := range all {
		if r.(map[string]any)["mode"] != "data" {
			kept = append(kept, r)
		}
	}
	delete(module, "resources")
	if kept != nil {
		module["resources"] = kept
	}
	children, _ := module["child_modules"].([]any)
	for _, child := range children {
		dropData(child.(map[string]any))
	}
}

// TestNativeRefuses refuses what is no plan, and leaves a plan alone that has
// nothing of a preview.
func TestNativeRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", "null x", "{"} {
		if out, err := preview.Native([]byte(text)); err == nil {
			t.Errorf("%q becomes %q", text, out)
		}
	}
	const plain = `{"a":12345678901234567890.12345678901234567890,"b":"<&>","resource_changes":[{"provider_name":"x"}]}`
	if out, err := preview.Native([]byte(plain)); err != nil || strings.TrimSpace(string(out)) != plain {
		t.Errorf("%s becomes %s, %v", plain, out, err)
	}
}
