package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/redact"
)

// slow is what a text without secrets is, found in the plainest way: each place
// where a secret stands, those that overlap as one.
func slow(secrets []string, text string) string {
	to := make([]int, len(text)) // by where a secret begins: where the longest one ends
	for i := range text {
		for _, s := range secrets {
			if strings.HasPrefix(text[i:], s) {
				to[i] = max(to[i], i+len(s))
			}
		}
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if to[i] == 0 {
			b.WriteByte(text[i])
			continue
		}
		end := to[i]
		for j := i + 1; j < end; j++ {
			end = max(end, to[j])
		}
		b.WriteString("(sensitive)")
		i = end - 1
	}
	return b.String()
}

// waiting is the end of text that could be the beginning of a secret.
func waiting(secrets []string, text string) string {
	longest := ""
	for _, s := range secrets {
		for n := range s {
			if n > len(longest) && strings.HasSuffix(text, s[:n]) {
				longest = s[:n]
			}
		}
	}
	return longest
}

// TestOverlaps holds the search against the plainest one, over secrets and
// texts of two letters, which overlap in every way. These letters stand in no
// other form of a secret.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[xy]{4,7}`), 1, 5).Draw(t, "secrets")
		pieces := rapid.SliceOfN(rapid.StringMatching(`[xy]{0,9}|zz`), 0, 12).Draw(t, "pieces")
		var out strings.Builder
		w := redact.New(secrets).Writer(&out)
		text := ""
		for _, piece := range pieces {
			_, _ = w.Write([]byte(piece))
			text += piece
			if want := slow(secrets, text); want == text {
				// Nothing waits that need not, and nothing is shown that must wait.
				if got, want := out.String(), strings.TrimSuffix(text, waiting(secrets, text)); got != want {
					t.Fatalf("%q: shown is %q, want %q", text, got, want)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := slow(secrets, text); out.String() != want {
			t.Fatalf("%q without %q: got %q, want %q", text, secrets, out.String(), want)
		}
	})
}

// encodings are how tools and their plugins write what they are given.
func encodings(s string) []string {
	quoted, _ := json.Marshal(s)
	twice, _ := json.Marshal(string(quoted))
	return []string{
		s, string(quoted), string(twice), url.QueryEscape(s), url.PathEscape(s),
		hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))),
		base64.StdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte("u:" + s)),
		base64.URLEncoding.EncodeToString([]byte("u" + s + "v")), base64.RawStdEncoding.EncodeToString([]byte("usr" + s)),
	}
}

// TestChunks writes secrets in any form, cut anywhere: what comes out is what
// comes out of one write, and holds none of them.
func TestChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.OneOf(
			rapid.StringMatching(`[a-c<&/ "\\é]{4,12}`),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 4, 12), func(b []byte) string { return string(b) }),
		), 1, 3).Draw(t, "secrets")
		var written []string
		for _, s := range secrets {
			written = append(written, encodings(s)...)
		}
		piece := rapid.OneOf(rapid.SampledFrom(written), rapid.StringN(0, 4, -1), rapid.Custom(func(t *rapid.T) string {
			whole := rapid.SampledFrom(written).Draw(t, "whole")
			return whole[:rapid.IntRange(0, len(whole)).Draw(t, "cut")]
		}))
		text := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")

		set := redact.New(secrets)
		want := through(t, set, text)
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		if got := through(t, set, pieces...); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		holdsNone(t, secrets, want)
		if again := through(t, set, want); again != want {
			t.Fatalf("%q is %q the second time", want, again)
		}
	})
}

// holdsNone looks for the secrets in every encoding. What is too short to be
// looked for is no secret.
func holdsNone(t interface{ Fatalf(string, ...any) }, secrets []string, text string) {
	for _, s := range secrets {
		if len(strings.TrimSpace(s)) < 4 || strings.Contains("true false null", strings.ToLower(strings.TrimSpace(s))) {
			continue
		}
		for _, form := range encodings(s) {
			if strings.Contains(text, form) {
				t.Fatalf("%q is in %q", form, text)
			}
		}
	}
}

// FuzzWriter cuts a text in two, wherever it likes.
func FuzzWriter(f *testing.F) {
	f.Add("hunter-two", "aaaa", "hunter-hunter-twoaaaaaaa hunt", 9)
	f.Add("e)xx", "hunter-two", "hunter-twoxx", 10)
	f.Add("]]]]", "<&é\\", `"\u003c\u0026é\\" ]]]`, 3)
	f.Add("p@ss/+w", " a b c d\nline two\n", "cEBzcy8rdw== line two", 5)
	f.Add("\xff\xfe\xfd\xfc", "true", "//79/A== true", 2)
	f.Fuzz(func(t *testing.T, one, two, text string, cut int) {
		secrets := []string{one, two}
		set := redact.New(secrets)
		want := through(t, set, text)
		holdsNone(t, secrets, want)
		cut = min(max(cut, 0), len(text))
		if got := through(t, set, text[:cut], text[cut:]); got != want {
			t.Fatalf("cut at %d: got %q, want %q", cut, got, want)
		}
		if got := through(t, set, want); got != want {
			t.Fatalf("%q is %q the second time", want, got)
		}
	})
}
