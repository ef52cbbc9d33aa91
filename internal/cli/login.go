package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/api/client"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/credentials"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report"
)

const loginHelp = `Keep a token for a server, for the commands that ask it.

The token is read from the terminal, without being shown, or from --token-file, or
from standard input. It is tried, and then kept in a file that nobody else reads:
credentials.json in the directory assize of your configuration. With --tofu it is
handed to tofu and terraform as well, the way that their own login does.

  assize login https://assize.example.com
  assize login https://localhost:8443 --token-file DIR/admin-token --tofu

Where there is no place for files, as in CI, set ASSIZE_SERVER_URL and
ASSIZE_API_KEY instead. A server with an authority of its own is believed when
ASSIZE_CA or SSL_CERT_FILE names the file of that: DIR/ca.pem of a data directory.
`

func newLoginCmd(g *Globals) *cobra.Command {
	var tokenFile string
	var tofu bool
	cmd := &cobra.Command{
		Use:   "login [URL]",
		Short: "Keep a token for a server",
		Long:  loginHelp + exitHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &remote{g: g}
			if len(args) > 0 {
				r.server = args[0]
			}
			return g.login(cmd.Context(), r, tokenFile, tofu)
		},
	}
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "`FILE` that holds the token; - is standard input")
	cmd.Flags().BoolVar(&tofu, "tofu", false, "hand the token to tofu and terraform, too")
	return cmd
}

func (g *Globals) login(ctx context.Context, r *remote, tokenFile string, tofu bool) error {
	path, saved, address, err := r.kept()
	if err != nil {
		return err
	}
	token, err := g.readToken(tokenFile, address)
	if err != nil {
		return err
	}
	c, err := client.New(client.Server{URL: address, Token: token.Reveal(), CA: os.Getenv(serverCA), Agent: "assize/" + g.Version})
	if err != nil {
		return err
	}
	var who v1.Principal
	if err := c.Ask(ctx, v1.Whoami{}, &who); err != nil {
		return err
	}
	saved.Default, saved.Tokens[address] = address, token.Reveal()
	if err := credentials.Write(path, saved); err != nil {
		return err
	}
	fmt.Fprintf(g.Out, "You are logged in to %s as %s.\n", address, who.Name)
	if !tofu {
		return nil
	}
	return g.share(address, token.Reveal(), "tofu and terraform use the same token")
}

// kept is what is saved, the file that holds it, and the server that is meant.
func (r *remote) kept() (path string, saved credentials.Saved, address string, err error) {
	if path, err = credentials.Path(); err == nil {
		saved, err = credentials.Read(path)
	}
	if err == nil {
		address, err = r.address(saved)
	}
	return path, saved, address, err
}

// share hands a token to tofu, or takes it away.
func (g *Globals) share(address, token, done string) error {
	path, err := credentials.TofuPath()
	if err != nil {
		return err
	}
	if err := credentials.Share(path, address, token); err != nil {
		return err
	}
	if os.Getenv("TF_CLI_CONFIG_FILE") != "" {
		report.Problem(g.Err, "warning", "TF_CLI_CONFIG_FILE is set, and then tofu and terraform do not read "+path)
	}
	_, err = fmt.Fprintf(g.Out, "%s: %s\n", path, done)
	return err
}

// readToken reads a token from where it was said to be. No error holds any of it.
func (g *Globals) readToken(file, address string) (identity.Token, error) {
	var text string
	var err error
	in, terminal := g.In.(*os.File)
	switch {
	case file == "" && terminal && isTerminal(in):
		fmt.Fprintf(g.Err, "Token for %s (it is not shown): ", address)
		text, err = readHidden(in)
		fmt.Fprintln(g.Err)
	case file == "" || file == "-":
		text, err = firstLine(g.In)
	default:
		var opened *os.File
		if opened, err = os.Open(file); err == nil {
			defer opened.Close()
			text, err = firstLine(opened)
		}
	}
	if err != nil {
		return identity.Token{}, problem.New(api.Invalid, "the token cannot be read: %w", err).
			WithHint("--token-file names a file that holds it; without it, it is read from the terminal or standard input")
	}
	if text == "" {
		return identity.Token{}, problem.New(api.Invalid, "no token came").
			WithHint("paste it when you are asked, or: assize login %s --token-file FILE", address)
	}
	return identity.ParseToken(text)
}

// firstLine reads no more than a token could have.
func firstLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

func newLogoutCmd(g *Globals) *cobra.Command {
	var tofu bool
	cmd := &cobra.Command{
		Use:   "logout [URL]",
		Short: "Forget the token for a server",
		Long: `Forget the token for a server: the one that is named, or the one that you logged in
to last. The token itself stays good; assize token revoke ends it.

  assize logout
  assize logout https://assize.example.com --tofu
` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r := &remote{g: g}
			if len(args) > 0 {
				r.server = args[0]
			}
			return g.logout(r, tofu)
		},
	}
	cmd.Flags().BoolVar(&tofu, "tofu", false, "take it from tofu and terraform, too")
	return cmd
}

func (g *Globals) logout(r *remote, tofu bool) error {
	path, saved, address, err := r.kept()
	if err != nil {
		return err
	}
	if _, ok := saved.Tokens[address]; ok {
		delete(saved.Tokens, address)
		if saved.Default == address {
			saved.Default = ""
		}
		if err := credentials.Write(path, saved); err != nil {
			return err
		}
	}
	fmt.Fprintf(g.Out, "You are logged out of %s.\n", address)
	if !tofu {
		return nil
	}
	return g.share(address, "", "tofu and terraform have no token any more")
}
