package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// formsOf lists the ways in which s may be written: as it is; escaped as in
// JSON, Go and HCL; escaped so and then twice more as in JSON, for JSON in JSON
// is common, and the tools quote what they show; escaped as in a URL; in
// hexadecimal; in base64. Each has at least secretMin bytes.
func formsOf(s string) []string {
	level := distinct(quotings(s))
	forms := append([]string{s}, level...)
	for range 2 {
		var next []string
		for _, form := range level {
			next = append(next, jsonText(form, true), jsonText(form, false))
		}
		level = distinct(next)
		forms = append(forms, level...)
	}
	for _, form := range slices.Clone(forms) {
		forms = append(forms, hcl.Replace(form))
	}
	forms = append(forms, urlForms(s)...)
	digits := hex.EncodeToString([]byte(s))
	forms = append(forms, digits, strings.ToUpper(digits))
	return distinct(append(forms, base64Forms(s)...))
}

// distinct keeps the number of forms small, of which each may have more.
func distinct(forms []string) []string {
	slices.Sort(forms)
	return slices.Compact(forms)
}

// hcl escapes what begins a template. The rest of its escapes are those of JSON.
var hcl = strings.NewReplacer("${", "$${", "%{", "%%{")

// quotings are s as it stands between quotes: of JSON as encoders write it that
// escape for HTML (\u003c), that do not, that write ASCII only, or that escape
// slashes; and of Go.
func quotings(s string) []string {
	forms := []string{inner(strconv.Quote(s)), inner(strconv.QuoteToASCII(s))}
	for _, text := range []string{jsonText(s, true), jsonText(s, false)} {
		for _, form := range []string{text, ascii(text)} {
			forms = append(forms, form, strings.ReplaceAll(form, "/", `\/`))
		}
	}
	return forms
}

// jsonText is s between the quotes of JSON.
func jsonText(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	_ = enc.Encode(s) // a string is never an error
	return inner(strings.TrimSuffix(b.String(), "\n"))
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// ascii writes what is not ASCII in UTF-16, as JSON does.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// escape is one byte as URLs escape it.
var escape = regexp.MustCompile(`%[0-9A-F]{2}`)

// urlForms are s in a query, in a path, before a host, and as encodeURIComponent
// of JavaScript has it, each with capital and with small digits.
func urlForms(s string) []string {
	query := url.QueryEscape(s)
	component := strings.ReplaceAll(query, "+", "%20") // a plus itself is %2B
	script := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(component)
	user := strings.TrimPrefix(url.UserPassword("", s).String(), ":")
	forms := []string{query, url.PathEscape(s), component, script, user}
	for _, form := range forms {
		forms = append(forms, escape.ReplaceAllStringFunc(form, strings.ToLower))
	}
	return forms
}

// base64Forms are those letters of s in base64 that depend on s alone, whatever
// stands before and after it. Three bytes make four letters, so s may begin in
// three ways; the letters at its ends are shared with its neighbours. Where
// nothing comes after s, the last letter is its own, and padding may follow.
func base64Forms(s string) []string {
	var forms []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for before := range 3 {
			padded := enc.EncodeToString(append(make([]byte, before), s...))[(8*before+5)/6:]
			last := strings.TrimRight(padded, "=")
			whole := 8*(before+len(s))/6 - (8*before+5)/6
			forms = append(forms, padded, last, last[:whole])
		}
	}
	return forms
}
