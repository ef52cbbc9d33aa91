package confine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/confine"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/policy/regotest"
)

// TestTests: tests run in the child as they run here, under its limits, and a
// language without tests has none.
func TestTests(t *testing.T) {
	t.Parallel()
	limits := confine.Limits{Memory: 192 << 20, CPU: time.Second, Wall: 10 * time.Second}
	engines := []policy.Engine{confine.New(cueengine.New(), limits), confine.New(regotest.New(), limits)}
	src := bombOf(api.Rego, "package main\nimport rego.v1\ndeny contains \"no\" if input.x\n")
	with := func(test string) policy.Source {
		s := src
		s.Files = append(s.Files[:1:1], policy.File{Name: "p_test.rego", Data: []byte("package main\nimport rego.v1\n" + test)})
		return s
	}
	got, err := policy.Test(engines, with("test_x if count(deny) == 1 with input.x as true\ntodo_test_y if true\n"))
	want := []api.RegoTest{
		{Name: "data.main.test_x", Position: "p_test.rego:3", Outcome: api.Passed},
		{Name: "data.main.todo_test_y", Position: "p_test.rego:4", Outcome: api.Skipped},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, none := range []policy.Source{src, bombOf(api.CUE, "summary: destroy: 0")} {
		if got, err := policy.Test(engines, none); err != nil || len(got) > 0 {
			t.Errorf("%s: %v %v", none.Language, got, err)
		}
	}
	for test, want := range map[string]string{
		"test_x if count(numbers.range(1, 1000000000)) == 0":         "could not judge: the policy needed more than",
		"test_x if http.send({\"method\": \"get\", \"url\": \"x\"})": "could not judge: http.send is not allowed",
		"test_x if": "could not judge: ",
	} {
		if _, err := policy.Test(engines, with(test)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", test, err)
		}
	}
}

// TestCover: the lines that judged a plan, and those that did not.
func TestCover(t *testing.T) {
	t.Parallel()
	engines := []policy.Engine{confine.New(regotest.New(), small)}
	src := bombOf(api.Rego, "package main\nimport rego.v1\ndeny contains c.address if {\n\tsome c in input.resource_changes\n\tc.type == \"none\"\n\tc.address != \"\"\n}\n")
	got, err := policy.Cover(engines, src, thePlan(t))
	want := []api.FileLines{{File: "p.rego", Covered: []int{4, 5}, Missed: []int{3, 6}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
