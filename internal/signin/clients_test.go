package signin_test

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/oauth2-proxy/mockoidc"

	"github.com/assize-iac/assize/api/client"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/serve/servetest"
)

// clients are the real ones.
func clients() []string { return []string{"tofu", "terraform"} }

// newHome is a home in which both clients can keep a token: terraform does not make
// the directory for it.
func newHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".terraform.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	return home
}

// command is one of a real client, in a home of its own.
func command(t *testing.T, s *servetest.Server, client, home string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("..", "..", ".bin", client))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = home
	// Without a PATH there is no program that opens a browser: it says what to open.
	cmd.Env = []string{"HOME=" + home, "SSL_CERT_FILE=" + s.CA, "CHECKPOINT_DISABLE=1", "TERM=dumb", "PATH="}
	return cmd
}

// screen is what a client shows, a line at a time, without what only moves the cursor.
func screen(terminal io.Reader) <-chan string {
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(terminal); scanner.Scan(); {
			lines <- regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(scanner.Text(), "")
		}
	}()
	return lines
}

// logIn runs the login of a client in a terminal, says yes, and hands the address that
// it shows to a browser. It returns what the program said.
func logIn(t *testing.T, s *servetest.Server, client, home string, open func(address string) (back string)) string {
	t.Helper()
	cmd := command(t, s, client, home, "login", s.Host)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := io.WriteString(terminal, "yes\n"); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines, late := screen(terminal), time.After(time.Minute)
	for {
		select {
		case <-late:
			t.Fatalf("no login within a minute:\n%s", said.String())
		case line, more := <-lines:
			if !more {
				if err := cmd.Wait(); err != nil {
					t.Errorf("%v:\n%s", err, said.String())
				}
				return said.String()
			}
			said.WriteString(line + "\n")
			if address := strings.TrimSpace(line); strings.HasPrefix(address, s.URL+"/oauth/authorize?") {
				res, err := http.Get(open(address)) // the client itself answers the browser
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
			}
		}
	}
}

// use initialises a configuration with what the login has left.
func use(t *testing.T, s *servetest.Server, client, home string) {
	t.Helper()
	config := `terraform {
  cloud {
    hostname     = "` + s.Host + `"
    organization = "` + s.Organisation + `"
    workspaces {
      name = "demo"
    }
  }
}
`
	if err := os.WriteFile(filepath.Join(home, "main.tf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, s, client, home, "init", "-no-color").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestLogin drives the real clients through a login by pasting a token, as the lines
// that a server prints at its start say, and then uses the server with what they keep.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := servetest.Start(t, servetest.Options{})
	for _, client := range clients() {
		home := newHome(t)
		said := logIn(t, s, client, home, func(address string) string {
			return newBrowser(t, s).open("POST", address, url.Values{"token": {s.Token}}).location.String()
		})
		kept, err := os.ReadFile(filepath.Join(home, ".terraform.d", "credentials.tfrc.json"))
		if err != nil {
			t.Fatalf("%s: %v\n%s", client, err, said)
		}
		if !strings.Contains(string(kept), s.Host) || strings.Contains(string(kept), s.Token) {
			t.Errorf("%s: %s", client, kept)
		}
		use(t, s, client, home)
	}
}

// TestLoginWithProvider is the same with an identity provider.
func TestLoginWithProvider(t *testing.T) {
	t.Parallel()
	m, s := provider(t, "example.com")
	for _, client := range clients() {
		m.QueueUser(&mockoidc.MockUser{Subject: "1", Email: "ann@example.com", EmailVerified: true})
		home := newHome(t)
		said := logIn(t, s, client, home, func(address string) string {
			b := newBrowser(t, s)
			return b.open("GET", s.URL+b.open("GET", address, nil).link(t), nil).link(t)
		})
		if _, err := os.Stat(filepath.Join(home, ".terraform.d", "credentials.tfrc.json")); err != nil {
			t.Errorf("%s: %v\n%s", client, err, said)
		}
	}
}

// TestLoginInvited: who was invited signs in with a real client, and may what the team
// may that the invitation was for (docs/server.md, rule 19).
func TestLoginInvited(t *testing.T) {
	t.Parallel()
	m, s := provider(t, "")
	owner := asking(t, s, s.Token)
	var team v1.Team
	owner(v1.CreateTeam{Organisation: s.Organisation, Name: "operators"}, &team)
	owner(v1.GiveGrant{Organisation: s.Organisation, Role: "planner", Holder: team.ID}, nil)
	owner(v1.InviteMember{Organisation: s.Organisation, Email: "bob@example.com", Teams: []string{team.ID}}, nil)
	m.QueueUser(&mockoidc.MockUser{Subject: "2", Email: "bob@example.com", EmailVerified: true})
	home := newHome(t)
	logIn(t, s, "tofu", home, func(address string) string {
		b := newBrowser(t, s)
		return b.open("GET", s.URL+b.open("GET", address, nil).link(t), nil).link(t)
	})
	text, err := os.ReadFile(filepath.Join(home, ".terraform.d", "credentials.tfrc.json"))
	if err != nil {
		t.Fatal(err)
	}
	token := regexp.MustCompile(`assize_u_[0-9A-Za-z]{49}`).FindString(string(text))
	var me v1.Caller
	asking(t, s, token)(v1.Whoami{}, &me)
	if me.Email != "bob@example.com" || me.SiteAdmin || len(me.Grants) != 1 || me.Grants[0].Holder.Name != "operators" || me.Grants[0].Role != "planner" {
		t.Errorf("%+v", me)
	}
}

// asking asks the native API of a server with a token.
func asking(t *testing.T, s *servetest.Server, token string) func(in binding.Request, out any) {
	t.Helper()
	c, err := client.New(client.Server{URL: s.URL, Token: token, CA: s.CA})
	if err != nil {
		t.Fatal(err)
	}
	return func(in binding.Request, out any) {
		t.Helper()
		if err := c.Ask(t.Context(), in, out); err != nil {
			t.Fatal(err)
		}
	}
}
