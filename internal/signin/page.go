package signin

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"

	"github.com/assize-iac/assize/internal/problem"
)

// A view is what one page shows.
type view struct {
	Login    *login // nil: nothing can come of this
	Provider bool   // people sign in there
	Name     string // of who has signed in
	Back     string // where the one who says yes goes
	Problem  string
}

// Start is where the way to the provider begins.
func (v view) Start() string { return "/oauth/start?" + v.Login.query() }

// Here is the page itself, to which the form goes.
func (v view) Here() string { return "/oauth/authorize?" + v.Login.query() }

const style = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 34rem; margin: 4rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
a.yes, button { display: inline-block; font: inherit; padding: .5rem 1rem; border: 0; border-radius: 4px; background: #1a4f8a; color: #fff; text-decoration: none }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .4rem; margin: .25rem 0 1rem }
.problem { border-left: 4px solid #a02020; padding-left: .75rem }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #181818 } }
`

const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Log in to Assize</title><style>` + style + `</style></head>
<body>
<h1>Log in to Assize</h1>
{{with .Problem}}<p class="problem" role="alert">{{.}}.</p>{{end}}
{{if .Login}}
{{if .Back}}
<p>You are <strong>{{.Name}}</strong>. A program on this computer, <strong>{{.Login.Client}}</strong>, asks to act as you for 30 days.</p>
<p>Go on only if you have just run <code>tofu login</code> or <code>terraform login</code> yourself.</p>
<p><a class="yes" href="{{.Back}}">Let it act as me</a></p>
{{else}}
<p>A program on this computer, <strong>{{.Login.Client}}</strong>, asks to act as you for 30 days.
Go on only if you have just run <code>tofu login</code> or <code>terraform login</code> yourself.</p>
{{if .Provider}}
<p><a class="yes" href="{{.Start}}">Sign in</a></p>
{{else}}
<form method="post" action="{{.Here}}">
<label for="token">A token of yours, such as the administrator's in the file <code>admin-token</code> of the server's data directory</label>
<input id="token" name="token" type="password" autocomplete="off" required autofocus>
<button type="submit">Log in</button>
</form>
{{end}}
{{end}}
{{end}}
</body>
</html>
`

// show writes a page. Nothing in it runs, nothing is loaded, nobody can put it into
// a frame, and its form goes nowhere but here and to the program that waits.
func (h *handler) show(w http.ResponseWriter, status int, v view) {
	var b bytes.Buffer
	if err := template.Must(template.New("page").Parse(page)).Execute(&b, v); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256([]byte(style))
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; form-action 'self' http://localhost:*; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // nobody is left to be told
}

// said is what somebody may know of an error.
func said(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return "something went wrong in the server; its log says what"
	}
	if p.Hint != "" {
		return p.Message + "; " + p.Hint
	}
	return p.Message
}
