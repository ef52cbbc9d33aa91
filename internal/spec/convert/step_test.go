package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/spec/convert/native"
)

// TestSteps: an address is read as it was written, whatever its keys are.
func TestSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want []step
		address := ""
		for _, name := range rapid.SliceOfN(rapid.StringMatching(`[a-z_][a-z0-9_-]{0,4}`), 1, 5).Draw(t, "names") {
			want = append(want, step{name: name})
			address += "." + name
			switch rapid.IntRange(0, 2).Draw(t, "key") {
			case 1:
				key := rapid.String().Draw(t, "text")
				want = append(want, step{key: key})
				address += native.Bracket(key)
			case 2:
				key := rapid.IntRange(0, 99).Draw(t, "number")
				want = append(want, step{key: key})
				address += native.Bracket(key)
			}
		}
		if got := steps(address[1:]); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", address[1:], got, want)
		}
	})
}

// TestWrite: what is written of a value has that value, whatever of it is a reference,
// and no sensitive text is ever in it.
func TestWrite(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[ab"\\($){}%\n\t é]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		v := value(text, 3).Draw(t, "value")
		w := &writing{reach: &reach{}, c: &converter{doc: &native.Document{}, nested: map[string]bool{}, known: []string{"secret"}}}
		given := "_x: _\n"
		for n, part := range rapid.SliceOfN(text, 0, 3).Draw(t, "candidates") {
			name := fmt.Sprintf("_c%d", n)
			data, _ := json.Marshal(part)
			given += name + ": " + string(data) + "\n"
			w.all = append(w.all, candidate{value: part, write: func() string { return name }})
		}
		written := w.write(v, nil)
		got := cuecontext.New().CompileString(given + "value: " + written)
		data, err := got.LookupPath(cue.ParsePath("value")).MarshalJSON()
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		var back any
		if err := json.Unmarshal(data, &back); err != nil || fmt.Sprint(back) != fmt.Sprint(v) {
			t.Errorf("%s is %v, want %v", written, back, v)
		}
		if w.write("a secret b", nil); !w.secret {
			t.Error("a secret was written")
		}
	})
}

// value is any value of text, lists and objects.
func value(text *rapid.Generator[string], depth int) *rapid.Generator[any] {
	if depth == 0 {
		return rapid.Map(text, func(s string) any { return s })
	}
	inner := value(text, depth-1)
	return rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.SliceOfN(inner, 0, 3), func(all []any) any { return append([]any{}, all...) }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z_#$"é -]{1,5}`), inner, 0, 3), func(all map[string]any) any { return all }),
	)
}
