package estate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/repo/estate"
)

// standIn is what CUE sees in place of a provider: what is built from it has #kind.
const standIn = `import "strings"
_used: strings.ToLower("")
$tf: {#Data: terraform_remote_state: {#kind: "read", backend?: string, config?: {...}, ...}, #Resource: x: {...}}
`

// provided is what the reading sees.
const provided = `package estate
import "strings"
import tf "terraform.io/builtin/terraform"
$tf: tf.#Provider
`

// evaluated are the reads of a specification as CUE has them: path, and the key where
// it is known; ok is false where CUE has an error.
func evaluated(text string) (reads []string, ok bool) {
	v := cuecontext.New().CompileString(standIn + text)
	if v.Validate() != nil {
		return nil, false
	}
	var walk func(v cue.Value, at string)
	walk = func(v cue.Value, at string) {
		if kind := v.LookupPath(cue.MakePath(cue.Def("kind"))); kind.Exists() {
			key, err := v.LookupPath(cue.ParsePath("config.key")).String()
			if err != nil {
				key = "?"
			}
			reads = append(reads, at+" "+key)
			return
		}
		if l, err := v.List(); err == nil {
			for i := 0; l.Next(); i++ {
				walk(l.Value(), strings.TrimPrefix(fmt.Sprintf("%s.%d", at, i), "."))
			}
			return
		}
		fields, err := v.Fields()
		for err == nil && fields.Next() {
			if name := fields.Selector().Unquoted(); !strings.HasPrefix(name, "$") {
				walk(fields.Value(), strings.TrimPrefix(at+"."+name, "."))
			}
		}
	}
	walk(v, "")
	slices.Sort(reads)
	return reads, true
}

// found are the reads as the text has them.
func found(t fatal, text string) (reads []string, vague int) {
	s, err := estate.Parse(tree{"a/estate.cue": provided + text}, "a")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, r := range s.Reads {
		key := "?"
		if v := r.Config.Values["key"]; v.Known {
			key = v.Text
		}
		reads = append(reads, r.Path+" "+key)
	}
	slices.Sort(reads)
	return reads, len(s.Vague)
}

type fatal interface{ Fatalf(string, ...any) }

// TestAgree: what the text says, CUE says. A read that CUE has is found, or the place
// where it may be is told of; none is found that CUE does not have; and a key that is
// known is the one that CUE has.
func TestAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := specification(t)
		want, ok := evaluated(text)
		if !ok {
			return
		}
		got, vague := found(t, text)
		if vague > 0 { // then there may be more
			want = slices.DeleteFunc(want, func(w string) bool {
				path, _, _ := strings.Cut(w, " ")
				return !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, path+" ") })
			})
		}
		for i := range min(len(want), len(got)) { // what is not known here is whatever it is
			if path, ok := strings.CutSuffix(got[i], " ?"); ok && strings.HasPrefix(want[i], path+" ") {
				want[i] = got[i]
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-CUE +text)\n%s\n%s", diff, text)
		}
	})
}

// TestAgreeReaches shows what the property has to have reached.
func TestAgreeReaches(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`_k: "a"` + "\nx: y: " + read(`_k + "b"`):                                             "x.y ab",
		"#C: {n: string, r: " + read(`"\(n)-k"`) + "}\nx: #C & {n: \"a\"}":                    "x.r a-k",
		`for i in ["a", "b"] {"x\(i)": ` + read("i") + "}":                                    "xa a, xb b",
		"x: [for i in [\"a\"] {" + read("i") + "}]":                                           "x.0 a",
		"let R = " + read(`"a"`) + "\nx: R":                                                   "x a",
		"x: " + read(`*"a" | string`) + "\nx: config: key: \"b\"":                             "x b",
		"if true {x: " + read(`"a"`) + "}\n" + "[string]: _":                                  "x a",
		"x: {" + "#e, y: " + read("z") + "\nz: \"a\"}\n#e: {z: string, w: " + read("z") + "}": "x.w a, x.y a",
	} {
		cueHas, ok := evaluated(text)
		textHas, vague := found(t, text)
		if got := strings.Join(cueHas, ", "); !ok || vague > 0 || got != want || strings.Join(textHas, ", ") != want {
			t.Errorf("%s\nCUE has %q, the text %q, want %q", text, got, textHas, want)
		}
	}
	text := `for i in strings.Split("a,b", ",") {"x\(i)": ` + read("i") + "}"
	if got, vague := found(t, text); len(got) > 0 || vague != 1 {
		t.Errorf("a loop that is not understood: %q, %d", got, vague)
	}
}

// read is a data source whose state has that key.
func read(key string) string {
	return `$tf.#Data.terraform_remote_state & {backend: "s3", config: key: ` + key + "}"
}

// specification draws one: texts that are made of each other, and reads that are made
// of them in every way.
func specification(t *rapid.T) string {
	pick := func(all ...string) string { return rapid.SampledFrom(all).Draw(t, "pick") }
	var b strings.Builder
	names := []string{`"lit"`}
	text := func() string {
		x, y := pick(names...), pick(names...)
		return pick(x, x+" + "+y, `"\(`+x+`)-\(`+y+`)"`, "string & "+x, "("+x+")", `*`+x+` | string`, "strings.ToLower("+x+")", `{v: `+x+`}.v`, `["q", `+x+`][1]`)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "texts") {
		name := fmt.Sprintf("_t%d", i)
		fmt.Fprintf(&b, "%s: %s\n", name, text())
		if rapid.Bool().Draw(t, "again") {
			fmt.Fprintf(&b, "%s: %s\n", name, pick("string", "_", `"lit"`))
		}
		names = append(names, name)
	}
	condition := func() string { return pick("true", "false", text()+` == "lit"`, text()+` != "lit"`) }
	list := func() string {
		return pick(`["a", "b"]`, `[`+text()+`]`, `{k: "a", l: "b"}`, `[]`, `strings.Split("a,b", ",")`, `[for x in ["c", "d"] if x != "c" {x}]`)
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "reads") {
		fmt.Fprintf(&b, "#C%d: {p: string | *%s, r: %s, ...}\n", i, text(), read(pick("p", `"\(p)/x"`, text())))
		x := fmt.Sprintf("x%d", i)
		component := fmt.Sprintf("#C%d & {p: %s}", i, text())
		b.WriteString(pick(
			x+": "+read(text())+"\n",
			x+": in: "+component+"\n",
			x+": {#C"+fmt.Sprint(i)+", p: "+text()+"}\n",
			"for k, v in "+list()+" {\""+x+"\\(k)\": #C"+fmt.Sprint(i)+" & {p: v}}\n",
			"for v in "+list()+" {(v): "+read("v")+"}\n",
			"for v in "+list()+" if "+condition()+" {\""+x+"\\(v)\": "+component+"}\n",
			"if "+condition()+" {"+x+": "+component+"}\n",
			x+": [for v in "+list()+" {"+read("v")+"}]\n",
			"let L"+x+" = "+component+"\n"+x+": L"+x+".r\n",
			x+": {for v in "+list()+" {\"\\(v)\": _h & {p: v}}, _h: #C"+fmt.Sprint(i)+"}\n",
			x+": "+read("string")+"\n"+x+": config: key: "+text()+"\n",
			x+": [Name=string]: "+read("Name")+"\n"+x+": {a: _, b: _}\n",
			"_m"+x+": {for v in "+list()+" {\"\\(v)\": "+component+"}}\n"+x+": _m"+x+".a\n",
			x+"?: "+component+"\n",
			x+": (#F & {in: "+text()+"}).out\n#F: {in: string, out: "+read("in")+"}\n",
			x+"=: {}\n"[:0]+x+": Y={a: \"k\", b: "+read("Y.a")+"}\n",
		))
	}
	return b.String()
}
