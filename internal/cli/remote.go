package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/api/client"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/credentials"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
)

// This file is how a command finds the server that it asks, and what is asked of
// it by name.

// The variables that say whom to ask, and as whom. A token is in no flag:
// everybody on a machine sees its command lines.
const (
	serverURL          = "ASSIZE_SERVER_URL"
	serverToken        = "ASSIZE_API_KEY"
	serverCA           = "ASSIZE_CA"
	serverOrganisation = "ASSIZE_ORGANISATION"
)

// A remote is the server that a command asks, and where on it.
type remote struct {
	*client.Client
	g            *Globals
	server       string // flag
	organisation string // flag, then the name
	json         bool   // flag: for programs
}

// flags adds those that commands about something in an organisation have.
func (r *remote) flags(cmd *cobra.Command) {
	r.serverFlag(cmd)
	cmd.Flags().StringVar(&r.organisation, "organisation", "", "`NAME` of the organisation, instead of "+serverOrganisation+"; not needed where you see one alone")
}

// serverFlag adds the flag that all commands which ask a server have.
func (r *remote) serverFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.server, "server", "", "`URL` of the server, instead of "+serverURL+" and of the one that you logged in to last")
}

// printing adds the flag of commands that print something for programs, too.
func (r *remote) printing(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.json, "json", false, "print JSON, as the native API has it")
}

// connect finds the server and the token for it, once. What was typed is stronger
// than the environment, and that than what was saved (docs/api.md, rule 8). What finds
// something on a server connects by itself.
func (r *remote) connect() error {
	if r.Client != nil {
		return nil
	}
	path, err := credentials.Path()
	if err != nil && os.Getenv(serverToken) == "" {
		return err
	}
	var saved credentials.Saved
	if err == nil {
		if saved, err = credentials.Read(path); err != nil {
			return err
		}
	}
	address, err := r.address(saved)
	if err != nil {
		return err
	}
	token := os.Getenv(serverToken)
	if token == "" {
		token = saved.Tokens[address]
	}
	if token == "" {
		return problem.New(api.Unauthenticated, "you are not logged in to %s", address).
			WithHint("assize login %s, or set %s", address, serverToken)
	}
	r.Client, err = client.New(client.Server{URL: address, Token: token, CA: os.Getenv(serverCA), Agent: "assize/" + r.g.Version})
	return err
}

// address is the server that is meant.
func (r *remote) address(saved credentials.Saved) (string, error) {
	for _, text := range []string{r.server, os.Getenv(serverURL), saved.Default} {
		if text != "" {
			return client.Address(text)
		}
	}
	return "", problem.New(api.Invalid, "no server was named, and you have not logged in to one").
		WithHint("assize login https://assize.example.com, or set %s", serverURL)
}

// in is the name of the organisation that is meant.
func (r *remote) in(ctx context.Context) (string, error) {
	if err := r.connect(); err != nil {
		return "", err
	}
	if r.organisation == "" {
		r.organisation = os.Getenv(serverOrganisation)
	}
	if r.organisation != "" {
		return r.organisation, nil
	}
	var all v1.Page[v1.Organisation]
	if err := r.Ask(ctx, v1.ListOrganisations{}, &all); err != nil {
		return "", err
	}
	var names []string
	for _, o := range all.Items {
		names = append(names, o.Name)
	}
	switch len(names) {
	case 0:
		return "", problem.New(api.NotFound, "you are a member of no organisation on %s", r.Address()).
			WithHint("ask an owner of one to let you in")
	case 1:
		r.organisation = names[0]
		return names[0], nil
	}
	return "", problem.New(api.Invalid, "you are a member of %s, so one has to be named", page.Plural(len(names), "organisation")).
		WithHint("--organisation %s, or set %s", strings.Join(names, " or "), serverOrganisation)
}

// stack is the one that somebody calls by its name, by organisation/name or by its id.
func (r *remote) stack(ctx context.Context, called string) (v1.Stack, error) {
	var s v1.Stack
	if err := r.connect(); err != nil {
		return s, err
	}
	if identity.IsID(identity.StackID, called) {
		return s, r.Ask(ctx, v1.ShowStack{Stack: called}, &s)
	}
	in, name, ok := strings.Cut(called, "/")
	if !ok {
		name = called
		var err error
		if in, err = r.in(ctx); err != nil {
			return s, err
		}
	}
	if err := identity.StackName().Check(name); err != nil {
		return s, err
	}
	err := r.Ask(ctx, v1.FindStack{Organisation: in, Name: name}, &s)
	if err != nil && problem.Code(err) == api.NotFound {
		return s, problem.New(api.NotFound, "there is no stack %s in %s, or you may not see it", name, in).WithHint("assize stack list")
	}
	return s, err
}

// gather are all items of a list, "most" of them at most; 0 is all.
func gather[T any](ctx context.Context, r *remote, most int, of func(v1.Paging) binding.Request) ([]T, error) {
	items := []T{}
	for item, err := range client.All[T](ctx, r.Client, of) {
		if err != nil {
			return nil, err
		}
		if items = append(items, item); len(items) == most {
			break
		}
	}
	return items, nil
}

// show prints items for people, one a line under the names of their columns, or
// for programs.
func show[T any](g *Globals, r *remote, items []T, columns string, row func(T) []string) error {
	if r.json {
		return page.JSON(g.Out, items)
	}
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for i, cells := range append([][]string{strings.Split(columns, ",")}, rows(items, row)...) {
		for j, cell := range cells {
			if cell == "" {
				cell = "-"
			}
			if i > 0 {
				cells[j] = page.Visible(cell)
			}
		}
		_, _ = table.Write([]byte(strings.Join(cells, "\t") + "\n")) // to memory
	}
	_ = table.Flush()
	_, err := g.Out.Write(page.Disarm(trimmed(text.Bytes())))
	return err
}

func rows[T any](items []T, row func(T) []string) [][]string {
	var all [][]string
	for _, item := range items {
		all = append(all, row(item))
	}
	return all
}

// trimmed is text without spaces at the ends of its lines.
func trimmed(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	for i := range lines {
		lines[i] = bytes.TrimRight(lines[i], " ")
	}
	return bytes.Join(lines, []byte("\n"))
}

// moment is how times are shown.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
