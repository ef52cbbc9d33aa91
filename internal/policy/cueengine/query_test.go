package cueengine_test

import (
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/problem"
)

const queried = `{"format": 1, "serial": 3, "resources": [
	{"addr": "a", "type": "t", "values": {"n": 1, "pw": {"$sensitive": true}}},
	{"addr": "b", "type": "t", "values": {"n": 2, "pw": "open"}},
	{"addr": "c", "type": "u", "values": {"n": 3}}],
	"outputs": {"big": 12345678901234567890}}`

func TestQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		`[for r in resources if r.type == "t" {r.addr}]`:                 `["a","b"]`,
		`[for r in resources if (r.values.pw & "open") != _|_ {r.addr}]`: `["b"]`,
		`[for r in resources if r.values.pw.$sensitive != _|_ {r.addr}]`: `["a"]`,
		`strings.ToUpper(resources[0].addr)`:                             `"A"`,
		`list.Sum([for r in resources {r.values.n}])`:                    `6`,
		`outputs`:                `{"big":12345678901234567890}`,
		`{n: 1, m: n + 1}`:       `{"n":1,"m":2}`,
		`resources[0].values.pw`: `{"$sensitive":true}`,
	} {
		got, err := cueengine.New().Query(query, []byte(queried))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", query, got, err, want)
		}
	}
}

// TestQueryWrong: the position is that in the expression, and a mask gives nothing
// away: it can be compared with nothing.
func TestQueryWrong(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		``:                                 "expected operand, found 'EOF':\n    query:1:1",
		`[for r in`:                        "query:1:10",
		`nope`:                             "reference \"nope\" not found:\n    query:1:1",
		`resources[9].addr`:                "index out of range [9] with length 3:\n    query:1:11",
		`string`:                           "incomplete value string:\n    query:1:1",
		"import \"strings\"\nstrings.Join": "query:1:8",
		`{@embed(file="/etc/passwd")}`:     "an attribute has no meaning here",
		`resources[0].values.pw == "open"`: "invalid operands",
		`resources[0].values.pw =~ "^o"`:   "cannot use {$sensitive:true}",
		`"\(resources[0].values.pw)"`:      "invalid interpolation",
		`{x: 1} & {x: 2}`:                  "x: conflicting values 2 and 1:\n    query:1:5\n    query:1:14",
	} {
		_, err := cueengine.New().Query(query, []byte(queried))
		if problem.Code(err) != api.Invalid || !strings.Contains(err.Error(), want) || problem.Hint(err) == "" {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
}
