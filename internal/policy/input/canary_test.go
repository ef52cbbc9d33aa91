package input_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/problem"
)

// TestCanaryForms finds a declared secret however it is written
// (docs/policy-input.md, rule 12).
func TestCanaryForms(t *testing.T) {
	t.Parallel()
	wrapped := func(s string) string { return s[:len(s)/2] + "\n  " + s[len(s)/2:] }
	quote := func(s string) string { text, _ := json.Marshal(s); return string(text) }
	forms := map[string]func(string) string{
		"plain":        func(s string) string { return s },
		"inside":       func(s string) string { return "x" + s + "y" },
		"trimmed":      strings.TrimSpace,
		"JSON":         quote,
		"JSON in JSON": func(s string) string { return quote(quote(s)) },
		"Go":           strconv.QuoteToASCII,
		"query":        url.QueryEscape,
		"path":         url.PathEscape,
		"HTML":         html.EscapeString,
		"hex":          func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":          func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte("a" + s))) },
		"wrapped hex":  func(s string) string { return wrapped(hex.EncodeToString([]byte(s))) },
		"base64":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64 + 1":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + "y")) },
		"base64 + 2":   func(s string) string { return base64.URLEncoding.EncodeToString([]byte("xy" + s + "zz")) },
		"base64 + 3":   func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("xyz" + s)) },
		"wrapped":      func(s string) string { return wrapped(base64.StdEncoding.EncodeToString([]byte("user:" + s))) },
	}
	places := map[string]string{ // %s is the quoted text
		"resource_changes[1]": `{"resource_changes":[{},{"change":{"after":{"a":[{"b":%s}]}}}]}`,
		"resource_changes[0]": `{"resource_changes":[{"change":{"after":{%s:1}}}]}`,
		"stack":               `{"stack":{"metadata":{"k":%s}}}`,
		"its text":            `[%s]`,
	}
	for _, secret := range []string{"hunter-two", "p@ss w0rd/+é\"\\<&>'%", "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\n-----END KEY-----\n", "pass"} {
		for form, write := range forms {
			if len(secret) == 4 && strings.Contains(form, "base64 +") {
				continue // too short to be told from any other four letters
			}
			for place, text := range places {
				text = fmt.Sprintf(text, quote(write(secret)))
				err := input.Canaries{{Name: "OTHER", Value: "another-secret"}, {Name: "DB_PASSWORD", Value: secret}}.Refuse("the text", []byte(text))
				if err == nil || err.Error() != "the text holds the declared secret DB_PASSWORD, in "+place && place != "its text" || problem.Code(err) != api.Refused {
					t.Errorf("%q, %s, %s: got %v", secret, form, place, err)
				}
				if err != nil && strings.Contains(err.Error()+problem.Hint(err), secret) {
					t.Errorf("it is quoted: %v", err)
				}
			}
		}
	}
}

// TestCanaryElsewhere finds a secret where the plan's own secrets are not
// removed: numbers, addresses, metadata, an object that is a secret as a whole.
func TestCanaryElsewhere(t *testing.T) {
	t.Parallel()
	object := `{"a":{"private":[1,true]}}`
	from := tracked()
	from.Subject.Metadata = map[string]string{"note": "zone-seven"}
	p := decode(t, planText(creates("falcon", `,"after":{"n":20260929,"o":`+object+`}`)))
	for value, place := range map[string]string{"20260929": "resource_changes[0]", "falcon": "resource_changes[0]", "zone-seven": "stack", object: "its text", sha: "source", "northwind": ""} {
		from.Secrets = input.Canaries{{Name: "C", Value: value}}
		_, err := input.Build(input.Assize(), p, from, input.Bounds{})
		if place == "" && err != nil {
			t.Errorf("%s: %v", value, err)
		} else if place != "" {
			wantProblem(t, err, api.Refused, "holds the declared secret C, in "+place)
		}
	}
}

// TestCanaryThatCannotBeSearched is an error: nobody knows whether it is there.
func TestCanaryThatCannotBeSearched(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "abc", " a \n\n\n\n"} {
		err := input.Canaries{{Name: "EMPTY", Value: value}}.Refuse("the text", []byte(`{}`))
		wantProblem(t, err, api.Invalid, "the declared secret EMPTY is empty or shorter than 4 bytes")
	}
	err := input.Canaries{{Name: "KEY", Value: "\xff\xfe\xfd\xfc\xfb"}}.Refuse("the text", []byte(`{}`))
	wantProblem(t, err, api.Invalid, "the declared secret KEY is no UTF-8")
	err = input.Canaries{{Name: "A", Value: "hunter-two"}}.Refuse("the text", []byte(`{`))
	if problem.Code(err) != api.Internal {
		t.Errorf("got %v", err)
	}
	if err := (input.Canaries)(nil).Refuse("the text", nil); err != nil {
		t.Error(err)
	}
}
