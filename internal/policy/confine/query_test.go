package confine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/confine"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/problem"
)

// TestQuery: a query answers from the child, and says there what is wrong with it.
func TestQuery(t *testing.T) {
	t.Parallel()
	engines := []policy.Engine{confine.New(cueengine.New(), confine.Limits{})}
	document := []byte(`{"serial": 7, "resources": [{"addr": "a"}]}`)
	got, err := policy.Query(engines, api.CUE, `[for r in resources {strings.ToUpper(r.addr)}]`, document)
	if err != nil || string(got) != `["A"]` {
		t.Errorf("%s, %v", got, err)
	}
	_, err = policy.Query(engines, api.CUE, `serial + "x"`, document)
	if problem.Code(err) != api.Invalid || !strings.Contains(err.Error(), "query:1:1") || problem.Hint(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := policy.Query(nil, api.CUE, `serial`, document); err == nil {
		t.Error("an engine that is not there has answered")
	}
}

// TestQueryBombs: every one ends, in time, and none answers.
func TestQueryBombs(t *testing.T) {
	t.Parallel()
	limits := confine.Limits{Memory: 192 << 20, CPU: time.Second, Wall: 10 * time.Second}
	engines := []policy.Engine{confine.New(cueengine.New(), limits)}
	for name, query := range map[string]string{
		"loops":   `len([for a in list.Range(0, 100000, 1) for b in list.Range(0, 100000, 1) {a * b}])`,
		"repeat":  `strings.Repeat("x", 1000000000000)`,
		"power":   `math.Pow(7, 300000000)`,
		"nesting": strings.Repeat("(", 1000000),
		"large":   `strings.Repeat("x", 16 * 1024 * 1024)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := policy.Query(engines, api.CUE, query, []byte(`{}`))
			if err == nil || strings.Contains(err.Error(), "judge") || strings.Contains(err.Error(), "polic") {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			t.Log(err)
		})
	}
}
