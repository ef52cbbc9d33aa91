package input

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/problem"
)

const (
	// canaryMin is the shortest secret that can be told from ordinary text.
	canaryMin = 4
	// encodedMin is the shortest encoded form that is looked for. Fewer letters
	// of base64 would be found by chance.
	encodedMin = 5
)

// A Canary is a value that its owner declares secret. Its name is shown, its
// value never.
type Canary struct {
	Name  string // what the owner calls it, such as a variable of the environment
	Value string
}

// check refuses what cannot be looked for. What is no UTF-8 does not survive
// the way to the process that looks, which is paved with JSON.
func (c Canary) check() error {
	switch {
	case len(strings.TrimSpace(c.Value)) < canaryMin:
		return problem.New(api.Invalid, "the declared secret %s is empty or shorter than %d bytes, so it cannot be looked for", c.Name, canaryMin).
			WithHint("give its value, or do not declare it")
	case !utf8.ValidString(c.Value):
		return problem.New(api.Invalid, "the declared secret %s is no UTF-8, so it cannot be looked for", c.Name).
			WithHint("declare the form in which it is used, such as its base64")
	}
	return nil
}

// Canaries are looked for in what is about to be judged or shown. They are the
// second line: the first is that secrets are removed.
type Canaries []Canary

// Refuse is an error if any canary stands anywhere in a text of JSON, in any of
// the forms of the page (docs/policy-input.md, rule 12). What is the name of
// the text. A canary that cannot be looked for is an error as well.
func (cs Canaries) Refuse(what string, text []byte) error {
	if len(cs) == 0 {
		return nil
	}
	tree, err := planjson.Parse(string(text))
	if err != nil {
		return problem.New(api.Internal, "%s cannot be searched for secrets", what)
	}
	for _, c := range cs {
		if err := c.check(); err != nil {
			return err
		}
		f := formsOf(c.Value)
		at := f.find(tree)
		if at == "" && f.in(string(text)) {
			at = "its text" // as an object that was itself the secret
		}
		if at != "" {
			return problem.New(api.Refused, "%s holds the declared secret %s, in %s", what, c.Name, at).
				WithHint("mark the value as sensitive where it enters the configuration, and plan again")
		}
	}
	return nil
}

// find returns the part of a document that holds any of the forms. It says no
// more than the member and the index, for a key may be the secret.
func (f forms) find(tree any) string {
	document, ok := tree.(map[string]any)
	if !ok {
		document = map[string]any{"its text": tree}
	}
	for _, name := range slices.Sorted(maps.Keys(document)) {
		if f.in(name) {
			return "the name of a member"
		}
		list, isList := document[name].([]any)
		for i, e := range list {
			if f.below(e) {
				return fmt.Sprintf("%s[%d]", name, i)
			}
		}
		if !isList && f.below(document[name]) {
			return name
		}
	}
	return ""
}

func (f forms) below(v any) bool {
	switch v := v.(type) {
	case string:
		return f.in(v)
	case json.Number:
		return f.in(string(v))
	case []any:
		return slices.ContainsFunc(v, f.below)
	case map[string]any:
		for k, e := range v {
			if f.in(k) || f.below(e) {
				return true
			}
		}
	}
	return false
}

// in looks into a text as it is, and for what is encoded without white space
// too, because that is often wrapped.
func (f forms) in(text string) bool {
	within := func(form string) bool { return strings.Contains(text, form) }
	if slices.ContainsFunc(f.plain, within) || slices.ContainsFunc(f.encoded, within) {
		return true
	}
	joined := strings.Join(strings.Fields(text), "")
	return len(joined) != len(text) && slices.ContainsFunc(f.encoded, func(form string) bool { return strings.Contains(joined, form) })
}

// forms are the ways in which one value may be written. Only what is encoded is
// looked for across white space: joining the words of a text would find
// secrets that are not there.
type forms struct{ plain, encoded []string }

func formsOf(value string) forms {
	var f forms
	for _, v := range []string{value, strings.TrimSpace(value)} {
		f.plain = append(f.plain, v, url.QueryEscape(v), url.PathEscape(v), html.EscapeString(v))
		for _, quoted := range quotings(v) {
			f.plain = append(append(f.plain, quoted), quotings(quoted)...)
		}
		digits := hex.EncodeToString([]byte(v))
		f.encoded = append(append(f.encoded, digits, strings.ToUpper(digits)), base64Forms(v)...)
	}
	slices.Sort(f.plain)
	f.plain = slices.Compact(f.plain)
	f.encoded = slices.DeleteFunc(f.encoded, func(form string) bool { return len(form) < encodedMin })
	return f
}

// quotings are a text as it stands between the quotes of JSON and of Go. The
// first escapes for HTML, as many encoders do without being asked.
func quotings(s string) []string {
	escaped, _ := json.Marshal(s)
	out := []string{string(escaped), plan.Quote(s), strconv.QuoteToASCII(s)}
	for i, quoted := range out {
		out[i] = quoted[1 : len(quoted)-1]
	}
	return out
}

// base64Forms are those letters of s in base64 that depend on s alone, whatever
// stands before and after it. Three bytes make four letters, so s may begin in
// three ways; the letters at its ends are shared with its neighbours.
func base64Forms(s string) []string {
	var forms []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := enc.EncodeToString(append(make([]byte, before), s...))
			forms = append(forms, text[(8*before+5)/6:8*(before+len(s))/6])
		}
	}
	return forms
}
