package serve

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// Welcome says what to export and to type next.
func (s *Server) Welcome(w io.Writer) {
	host := s.URL()
	if u, err := url.Parse(host); err == nil {
		host = u.Host
	}
	fmt.Fprintf(w, "Assize is ready at %s\n", s.URL())
	if s.settings.Database != "" {
		if s.adminFile != "" {
			fmt.Fprintf(w, "The administrator's token is in %s\n", s.adminFile)
		}
		return
	}
	fmt.Fprintf(w, "\nIn another terminal:\n\n")
	if s.settings.Certificate == "" && !s.settings.InsecureHTTP {
		fmt.Fprintf(w, "  export SSL_CERT_FILE=%s\n", quoted(filepath.Join(s.settings.Data, fileAuthority)))
	}
	if s.settings.InsecureHTTP {
		fmt.Fprintf(w, "  # clients want HTTPS: point them to the proxy that speaks it\n")
	}
	fmt.Fprintf(w, "  tofu login %s\n\n", host)
	if s.adminFile != "" {
		fmt.Fprintf(w, "The token that it asks for is in %s. Without a browser, and for the commands of assize:\n\n", s.adminFile)
		fmt.Fprintf(w, "  assize login %s --token-file %s --tofu\n", s.URL(), quoted(s.adminFile))
		fmt.Fprintf(w, "  env \"TF_TOKEN_%s=$(cat %s)\" tofu init     # for one command\n\n", tokenName(host), quoted(s.adminFile))
	}
	fmt.Fprintf(w, "A configuration keeps its state here with:\n\n")
	fmt.Fprintf(w, "  terraform {\n    cloud {\n      hostname     = %q\n      organization = %q\n      workspaces {\n        name = \"demo\"\n      }\n    }\n  }\n\n",
		host, s.settings.Organisation)
	fmt.Fprintf(w, "Who you are, and how others come: assize whoami, assize member --help.\n")
	fmt.Fprintf(w, "Stop with Ctrl-C. Everything is in %s.\n", s.settings.Data)
}

// tokenName is the part of the variable TF_TOKEN_... that names a host. A shell
// cannot set one with a port or a dash, and env can.
func tokenName(host string) string { return strings.ReplaceAll(host, "-", "__") }

// quoted is a word of a shell.
func quoted(word string) string {
	if strings.ContainsAny(word, " '\"$`\\!*?()[]{}<>|&;#~\t\n") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
