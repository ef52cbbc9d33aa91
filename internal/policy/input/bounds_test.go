package input_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/input"
)

// Seed 000: the complete document is limited to 2 MiB, 50,000 nodes, 5,000
// changes and 20,000 nodes of sensitivity maps; objects, arrays, strings and
// depth are bounded for themselves. Each case is a plan at a bound, and one
// just above it that exceeds no other.
var bounded = []struct {
	name  string
	limit int
	plan  func(n int) string // a plan with n of it
	raise func(*input.Bounds)
}{
	{"bytes", 2 << 20, func(n int) string { // the rest of the document has 658 bytes
		return after(fmt.Sprintf(`{"a":%q,"b":%q,"c":%q}`, letters(1<<20), letters(1<<19), letters(n-1<<20-1<<19-658)))
	}, func(b *input.Bounds) { b.Bytes = 3 << 20 }},
	{"nodes", 50_000, func(n int) string { // 34 others, and 6 lists
		full := list("1", 9000)
		return after(fmt.Sprintf(`{"a":%s,"b":%s,"c":%s,"d":%s,"e":%s,"f":%s}`, full, full, full, full, full, list("1", n-5*9000-34-6)))
	}, func(b *input.Bounds) { b.Nodes = 60_000 }},
	{"changes", 5_000, func(n int) string {
		var all []string
		for i := range n {
			all = append(all, creates(fmt.Sprintf("a%d", i), ""))
		}
		return planText(all...)
	}, func(b *input.Bounds) { b.Changes = 6000 }},
	{"sensitivity_nodes", 20_000, func(n int) string { // before has one, after has one and 3 lists
		full := list("false", 9000)
		return planText(creates("a", fmt.Sprintf(`,"after":null,"after_sensitive":{"a":%s,"b":%s,"c":%s}`, full, full, list("false", n-2*9000-5))))
	}, func(b *input.Bounds) { b.SensitivityNodes = 30_000 }},
	{"keys", 5_000, func(n int) string {
		m := map[string]int{}
		for i := range n {
			m[fmt.Sprint(i)] = i
		}
		text, _ := json.Marshal(m)
		return after(string(text))
	}, func(b *input.Bounds) { b.Keys = 6000 }},
	{"items", 10_000, func(n int) string { return after(`{"a":` + list("1", n) + `}`) }, func(b *input.Bounds) { b.Items = 20_000 }},
	{"string_bytes", 1 << 20, func(n int) string { return after(fmt.Sprintf(`{"a":%q}`, letters(n))) }, func(b *input.Bounds) { b.StringBytes = 2 << 20 }},
	{"string_bytes", 1 << 20, func(n int) string { return after(fmt.Sprintf(`{%q:1}`, letters(n))) }, func(b *input.Bounds) { b.StringBytes = 2 << 20 }},
	{"depth", 64, func(n int) string { // document, changes, change, change, after
		return after(`{"a":` + strings.Repeat("[", n-5) + strings.Repeat("]", n-5) + `}`)
	}, func(b *input.Bounds) { b.Depth = 70 }},
}

func after(value string) string { return planText(creates("a", `,"after":`+value)) }

func letters(n int) string { return strings.Repeat("a", n) }

func list(element string, n int) string {
	return "[" + strings.Repeat(element+",", n-1) + element + "]"
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for _, tt := range bounded {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var raised input.Bounds
			tt.raise(&raised)
			most := raised
			if tt.name == "changes" { // 5,000 of them have more than 50,000 nodes and 20 each
				most.Nodes, most.Bytes = 200_000, 4<<20
				raised.Nodes, raised.Bytes = most.Nodes, most.Bytes
				most.Changes = 0
			} else {
				most = input.Bounds{}
			}
			if _, err := input.Build(input.Assize(), decode(t, tt.plan(tt.limit)), tracked(), most); err != nil {
				t.Errorf("at the bound: %v", err)
			}
			above := decode(t, tt.plan(tt.limit+1))
			want := fmt.Sprintf("too large: %s %d (limit %d)", tt.name, tt.limit+1, tt.limit)
			_, err := input.Build(input.Assize(), above, tracked(), most)
			wantProblem(t, err, api.TooLarge, want)
			if err != nil && strings.Contains(err.Error(), ",") {
				t.Errorf("more than one bound is named: %v", err)
			}
			in, err := input.Build(input.Assize(), above, tracked(), raised)
			if err != nil {
				t.Fatalf("raised: %v", err)
			}
			if _, err := input.Read(in.Text, raised); err != nil {
				t.Errorf("raised, read: %v", err)
			}
			_, err = input.Read(in.Text, most)
			wantProblem(t, err, api.TooLarge, want)
		})
	}
}

// TestBoundsTogether names all that are exceeded, with the way to raise them.
func TestBoundsTogether(t *testing.T) {
	t.Parallel()
	_, err := input.Build(input.Assize(), decode(t, after(`{"a":`+list("1", 60_000)+`,"b":"`+letters(2<<20)+`"}`)), tracked(), input.Bounds{})
	for _, name := range []string{"bytes", "nodes", "items", "string_bytes"} {
		wantProblem(t, err, api.TooLarge, name+" ")
	}
}

// TestChangesAreNoItems: the list of changes has a bound of its own.
func TestChangesAreNoItems(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 10_001 {
		all = append(all, creates(fmt.Sprintf("a%d", i), ""))
	}
	most := input.Bounds{Changes: 20_000, Nodes: 200_000, Bytes: 8 << 20, SensitivityNodes: 30_000}
	if _, err := input.Build(input.Assize(), decode(t, planText(all...)), tracked(), most); err != nil {
		t.Error(err)
	}
}

// TestProjectedOnly: what no policy may see does not count.
func TestProjectedOnly(t *testing.T) {
	t.Parallel()
	secret := `{"list":` + list("123456", 60_000) + `,"text":"` + letters(3<<20) + `"}`
	text := strings.Replace(planText(creates("a", `,"after":{"s":`+secret+`},"after_sensitive":{"s":true}`)), "{",
		`{"variables":{"v":{"value":`+secret+`}},"prior_state":{"values":{"outputs":{"o":{"value":`+secret+`}},"root_module":{}}},`, 1)
	if got := len(build(t, text).Text); got > 1000 {
		t.Errorf("%d bytes", got)
	}
}

// TestBoundsOnlyRise: a policy may rely on the contract's bounds.
func TestBoundsOnlyRise(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bytes", "nodes", "changes", "sensitivity_nodes", "keys", "items", "string_bytes", "depth"} {
		for _, limit := range []int{-1, 1, 63} {
			var b input.Bounds
			if err := b.Set(name, limit); err != nil {
				t.Fatal(err)
			}
			_, err := input.Build(input.Assize(), decode(t, planText()), tracked(), b)
			wantProblem(t, err, api.Invalid, "the bound "+name)
			_, err = input.Read([]byte(seedExample), b)
			wantProblem(t, err, api.Invalid, "below the contract's")
		}
	}
	wantProblem(t, new(input.Bounds).Set("lines", 1), api.Invalid, `no bound "lines"`)
	d := input.DefaultBounds()
	if _, err := input.Read([]byte(seedExample), d); err != nil {
		t.Error(err)
	}
}
