// Package preview lets a stack be planned against what the stacks that it reads
// will put out, once their own plans are applied (docs/preview.md).
//
// The idea to know: an override file cannot be trusted to a user's directory,
// where one that is left behind makes a later, real plan wrong. The tool runs in
// a private tree of links that looks like the user's, and the override is there.
// In it the data blocks that read a state belong to another provider, which
// returns what the block says. That provider lives in this process.
package preview

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// variable tells the tools of providers that run already.
const variable = "TF_REATTACH_PROVIDERS"

// A Provider serves any number of plans at the same time.
type Provider struct {
	server *http.Server
	dir    string // private, holds the socket
	socket string
}

// Serve starts the provider in this process, on a socket that only this user can
// reach. The socket is in the system's directory for temporary files, for its
// path must be short. Close ends it.
func Serve() (*Provider, error) {
	dir, err := os.MkdirTemp("", "assize-")
	if err != nil {
		return nil, unavailable(err)
	}
	socket := filepath.Join(dir, "preview")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, errors.Join(unavailable(err), os.RemoveAll(dir))
	}
	p := &Provider{dir: dir, socket: socket, server: &http.Server{
		Handler: http.HandlerFunc(answer), Protocols: &http.Protocols{},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // a tool that breaks off is nobody's news
	}}
	p.server.Protocols.SetUnencryptedHTTP2(true)
	go p.server.Serve(listener) // until it is closed
	return p, nil
}

func unavailable(err error) error {
	return problem.New(api.Unavailable, "the provider for previews cannot be started: %w", err)
}

// Close ends the provider and every call of it.
func (p *Provider) Close() error { return errors.Join(p.server.Close(), os.RemoveAll(p.dir)) }

// Environ is the entry of the environment of tool, tofu or terraform, that makes
// it use the provider. getenv looks up what the tool would have otherwise:
// providers that the user runs stay.
func (p *Provider) Environ(tool string, getenv func(string) string) (string, error) {
	providers := map[string]any{}
	if text := getenv(variable); text != "" {
		if err := json.Unmarshal([]byte(text), &providers); err != nil {
			return "", problem.New(api.Invalid, "%s is no JSON object of providers", variable).WithHint("unset %s", variable)
		}
	}
	providers[address(tool)] = map[string]any{
		// Test has the tool leave the process alone when it is done.
		"Protocol": "grpc", "ProtocolVersion": 6, "Pid": os.Getpid(), "Test": true,
		"Addr": map[string]string{"Network": "unix", "String": p.socket},
	}
	text, err := json.Marshal(providers)
	return variable + "=" + string(text), err
}

// address is the provider's for a tool, each of which has its own registry. It is
// asked for nothing there: the provider runs already.
func address(tool string) string {
	if tool == "terraform" {
		return "registry.terraform.io/assize/preview"
	}
	return "registry.opentofu.org/assize/preview"
}
