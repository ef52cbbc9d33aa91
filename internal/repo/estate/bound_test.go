package estate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/repo/estate"
)

// TestBounds: a text that is made to cost much costs little, and what is not known
// then is said to be unknown.
func TestBounds(t *testing.T) {
	t.Parallel()
	row := func(n int, format string) (text string) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i+1, i)
		}
		return b.String()
	}
	read := "net: $tf.#Data.terraform_remote_state & {backend: \"s3\", config: {bucket: \"b\", key: x%d}}\n"
	for name, c := range map[string]struct{ text, want string }{
		"a long way": {"x0: \"k\"\n" + row(400, "x%d: x%d\n") + fmt.Sprintf(read, 400),
			"bucket=b key=k"},
		"growing texts": {"x0: \"kkkkkkkk\"\n" + row(100, "x%d: \"\\(x%[2]d)\\(x%[2]d)\\(x%[2]d)\"\n") + fmt.Sprintf(read, 100),
			"bucket=b key=?"},
		"loops in loops": {"_l: [" + strings.Repeat("1, ", 900) + "]\nx1: \"k\"\n" +
			"for a in _l for b in _l for c in _l for d in _l {\"n\\(a)\\(b)\\(c)\\(d)\": $tf.#Data.terraform_remote_state}\n" + fmt.Sprintf(read, 1),
			"?"},
		"in a circle": {"x1: x2\nx2: x3\nx3: x1\n" + fmt.Sprintf(read, 1),
			"bucket=b key=?"},
		"a text of itself": {"x1: \"\\(x2)-\"\nx2: \"\\(x1)-\"\n" + fmt.Sprintf(read, 1),
			"bucket=b key=?"},
		"a struct of itself": {"#A: {#A, n: #A}\ny: #A\nx1: \"k\"\n" + fmt.Sprintf(read, 1),
			"bucket=b key=k"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := estate.Parse(tree{"a/estate.cue": head + c.text}, "a")
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(said(s), "\n"); !strings.Contains(got, c.want) {
				t.Errorf("%s does not hold %s", got, c.want)
			}
		})
	}
	for name, text := range map[string]string{
		"brackets":  strings.Repeat("[", 100_000),
		"operators": "x: " + strings.Repeat("-", 100_000) + "1",
		"labels":    strings.Repeat("a: ", 100_000) + "1",
		"lines":     strings.Repeat("a:\n", 100_000) + "1",
	} {
		if _, err := estate.Parse(tree{"a/estate.cue": "package estate\n" + text}, "a"); err == nil || err.Error() != "a/estate.cue: nested too deep" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShown: the name of a file is shown, and never interpreted.
func TestShown(t *testing.T) {
	t.Parallel()
	_, err := estate.Parse(tree{"a/\x1b[31m.cue": "package estate\nx: ]"}, "a")
	if want := `"a/\x1b[31m.cue":2:4: expected operand, found ']'`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// FuzzParse: no text brings the reading down, or takes it long.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"net: $tf.#Data.terraform_remote_state & {backend: \"local\", config: path: \"\\(tofu.#root)/x\"}",
		"for k, v in {a: 1} if k != \"b\" let x = v {(k): [x, ...]}",
		"#D: {x: X={y: X.y}, [Name=string]: z: Name}, d: #D & {x~V: y: 1}",
		"$settings: state: {s3: {bucket: *\"a\" | string, workspaces: [{name: \"x\"}]}}",
		"a: b[0], b: [for x in [1] {x}], c: b[a]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := estate.Parse(tree{"a/estate.cue": head + text}, "a")
		if (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}
