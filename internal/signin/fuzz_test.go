package signin

import (
	"net/url"
	"strconv"
	"testing"
)

// FuzzLogin: whatever a browser is sent with, a code leads to a program on its own
// machine, on a port that was announced, or nowhere; and the request survives the way
// through a cookie.
func FuzzLogin(f *testing.F) {
	good := "client_id=tofu&redirect_uri=http://localhost:10000/login&response_type=code&code_challenge_method=S256&state=s&code_challenge=0123456789012345678901234567890123456789012"
	for _, seed := range []string{good, good + "&redirect_uri=http://evil.example.com/login", "redirect_uri=http://localhost:10000/login%0a", "%zz", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		query, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		l, err := loginOf(query)
		if err != nil {
			if l != (login{}) {
				t.Errorf("%+v with %v", l, err)
			}
			return
		}
		to, err := url.Parse(l.back("the code"))
		if err != nil {
			t.Fatal(err)
		}
		port, err := strconv.Atoi(to.Port())
		if err != nil || to.Scheme != "http" || to.Hostname() != "localhost" || port < FirstPort || port > LastPort || to.Path != "/login" || to.User != nil {
			t.Errorf("a code would go to %s", to)
		}
		if q := to.Query(); len(q) != 2 || q.Get("code") != "the code" || q.Get("state") != l.State {
			t.Errorf("%s", to)
		}
		again, err := url.ParseQuery(l.query())
		if err != nil {
			t.Fatal(err)
		}
		if same, err := loginOf(again); err != nil || same != l {
			t.Errorf("%+v became %+v: %v", l, same, err)
		}
	})
}
