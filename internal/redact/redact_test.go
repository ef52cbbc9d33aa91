package redact_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/redact"
)

// through is what comes out when each piece is one write.
func through(t interface{ Fatal(...any) }, set *redact.Set, pieces ...string) string {
	var out strings.Builder
	w := set.Writer(&out)
	for _, piece := range pieces {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		secrets []string
		text    string
		want    string
	}{
		{"none", nil, "hunter-two", "hunter-two"},
		{"a secret", []string{"hunter-two"}, "is hunter-two.", "is (sensitive)."},
		{"several", []string{"hunter-two", "zone-seven"}, "zone-seven hunter-two hunter-two", "(sensitive) (sensitive) (sensitive)"},
		{"its beginning, at the end", []string{"hunter-two"}, "hunter-two hunter-tw", "(sensitive) hunter-tw"},
		{"its beginning, twice", []string{"hunter-two"}, "hunter-hunter-two", "hunter-(sensitive)"},
		{"the longest wins", []string{"hunter", "hunter-two", "unter-two-more"}, "hunter-two", "(sensitive)"},
		{"the longest is not there", []string{"hunter", "hunter-two"}, "hunter-tw", "(sensitive)-tw"},
		{"the longest overlaps", []string{"hunter", "hunter-two", "unter-two-more"}, "hunter-two-more", "(sensitive)"},
		{"one ends inside another's beginning", []string{"unte", "hunter-two"}, "hunter-tw", "h(sensitive)r-tw"},
		{"it overlaps itself", []string{"aaaa"}, "baaaaaaab", "b(sensitive)b"},
		{"it overlaps itself, and begins again", []string{"abcab"}, "abcabcabca", "(sensitive)ca"},
		{"two side by side", []string{"abcd"}, "abcdabcd", "(sensitive)(sensitive)"},
		{"too short", []string{"", "abc", " a\n", "true", "FALSE", "null"}, "abc true false null a", "abc true false null a"},
		{"white space around it", []string{"  hunter-two\n"}, "hunter-two  hunter-two\n.", "(sensitive)(sensitive)."},
		{"its lines", []string{"first line\n}\nlast line\n"}, "| first line\n| }\n| last line\n", "| (sensitive)\n| }\n| (sensitive)\n"},
		{"it could form the mask", []string{"hunter-two", "e)xx"}, "hunter-twoxx", "[redacted]xx"},
		{"it could form any mask", []string{"hunter-two", "e)xx", "]]]]", "****", "xx«s"}, "a hunter-twoxx", "a "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := redact.New(tc.secrets)
			if got := through(t, set, tc.text); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if got := through(t, set, strings.Split(tc.text, "")...); got != tc.want {
				t.Errorf("byte by byte: got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestForms finds a secret in every form. What is left of base64 is at most the
// letters that it shares with its neighbours.
func TestForms(t *testing.T) {
	t.Parallel()
	quote := func(s string) string { text, _ := json.Marshal(s); return string(text) }
	std, raw := base64.StdEncoding, base64.RawStdEncoding
	forms := map[string]func(string) string{
		"plain":                 func(s string) string { return s },
		"JSON":                  quote,
		"JSON in JSON":          func(s string) string { return quote(quote(s)) },
		"JSON in JSON, printed": func(s string) string { return quote(quote(quote(s))) },
		"JSON, slashes":         func(s string) string { return strings.ReplaceAll(quote(s), "/", `\/`) },
		"JSON, ASCII":           func(s string) string { return strings.ReplaceAll(quote(s), "é", `\u00e9`) },
		"JSON, no HTML": func(s string) string {
			var b strings.Builder
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(s)
			return b.String()
		},
		"Go":    strconv.QuoteToASCII,
		"HCL":   func(s string) string { return strings.NewReplacer(`"`, `\"`, `\`, `\\`, "${", "$${").Replace(s) },
		"query": url.QueryEscape,
		"path":  url.PathEscape,
		"small path": func(s string) string {
			return strings.NewReplacer("%2F", "%2f", "%3F", "%3f", "%C3%A9", "%c3%a9", "%3C", "%3c", "%3E", "%3e", "%5C", "%5c", "%7B", "%7b", "%7D", "%7d").Replace(url.PathEscape(s))
		},
		"component": func(s string) string {
			return strings.NewReplacer("+", "%20", "%21", "!", "%27", "'").Replace(url.QueryEscape(s))
		},
		"user":       func(s string) string { return url.UserPassword("u", s).String() },
		"hex":        func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":        func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"base64":     func(s string) string { return std.EncodeToString([]byte(s)) },
		"raw base64": func(s string) string { return raw.EncodeToString([]byte(s)) },
		"URL base64": func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
		"raw URL":    func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"base64 + 1": func(s string) string { return std.EncodeToString([]byte("x" + s + "y")) },
		"base64 + 2": func(s string) string { return base64.URLEncoding.EncodeToString([]byte("xy" + s + "zz")) },
		"base64 + 3": func(s string) string { return raw.EncodeToString([]byte("xyz" + s)) },
		"basic auth": func(s string) string { return std.EncodeToString([]byte("user:" + s)) },
	}
	for _, secret := range []string{"hunter-two", "p@ss w0rd/+é\"\\<&>'%!${x}", "\xff\xfe\xfd\xfc", "pass", "???>>>~~~"} {
		set := redact.New([]string{"another-secret", secret})
		for name, write := range forms {
			text := write(secret)
			got := through(t, set, strings.Split(text, "")...)
			if !strings.Contains(got, "(sensitive)") {
				t.Errorf("%q, %s: %s is shown", secret, name, text)
				continue
			}
			before, after, _ := strings.Cut(got, "(sensitive)")
			most := 4
			if strings.Contains(name, "base64 +") || name == "basic auth" {
				most = 12
			}
			if len(strings.Trim(before, `"\u:`))+len(strings.Trim(after, "\"\\\n@")) > most {
				t.Errorf("%q, %s: %s is left of %s", secret, name, got, text)
			}
		}
	}
}

// failing takes a number of writes.
type failing struct{ left int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriterErrors(t *testing.T) {
	t.Parallel()
	w := redact.New([]string{"hunter-two"}).Writer(&failing{1})
	for i, want := range []error{nil, nil, errFull, errFull} {
		text := []string{"a", "hunt", "x", "y"}[i]
		if n, err := w.Write([]byte(text)); err != want || (err == nil) != (n == 1 || n == 4) {
			t.Errorf("write %d: got %d, %v, want %v", i, n, err, want)
		}
	}
	if err := w.Close(); err != errFull {
		t.Errorf("got %v", err)
	}

	w = redact.New(nil).Writer(io.Discard)
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("x")); err != io.ErrClosedPipe {
		t.Errorf("got %v", err)
	}
}

// BenchmarkWriter is what a line of a log costs where nothing is found, with
// few secrets and with many.
func BenchmarkWriter(b *testing.B) {
	line := "2026-01-02T03:04:05Z terraform_data.example[\"key\"]: Creation complete after 0s [id=3f0c8a1e-7d1b-4c55-9d5e-2b1f0a9c7e11]\n"
	chunk := []byte(strings.Repeat(line, 100<<20/len(line)/64))
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("secrets=%d", n), func(b *testing.B) {
			set := redact.New(generated(n))
			b.SetBytes(64 * int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				w := set.Writer(io.Discard)
				for range 64 {
					_, _ = w.Write(chunk)
				}
				_ = w.Close()
			}
		})
	}
}

// BenchmarkWriterWorst is a stream that always could become a secret and never
// does, and one that is nothing but secrets.
func BenchmarkWriterWorst(b *testing.B) {
	set := redact.New([]string{strings.Repeat("a", 4000) + "b", strings.Repeat("c", 4000)})
	for _, letter := range []string{"a", "c"} {
		chunk := []byte(strings.Repeat(letter, 1<<20))
		b.Run(letter, func(b *testing.B) {
			b.SetBytes(int64(len(chunk)))
			for b.Loop() {
				w := set.Writer(io.Discard)
				_, _ = w.Write(chunk)
				_ = w.Close()
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	secrets := generated(1000)
	for b.Loop() {
		redact.New(secrets)
	}
}

// generated are n secrets of 40 letters that have nothing in common.
func generated(n int) []string {
	secrets := make([]string, n)
	for i := range secrets {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		secrets[i] = base64.StdEncoding.EncodeToString(sum[:])[:40]
	}
	return secrets
}
