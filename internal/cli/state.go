package cli

import (
	"context"
	"crypto/md5" //nolint:gosec // what the server names versions by; it proves nothing
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/api/client"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/problem"
)

func newStateCmd(g *Globals) *cobra.Command {
	here := []*cobra.Command{newStateListCmd(g), newStateShowCmd(g), newStateQueryCmd(g), newStateMvCmd(g), newStateRmCmd(g)}
	there := []*cobra.Command{newStatePullCmd(g), newStatePushCmd(g), newStateVersionsCmd(g), newStateRollbackCmd(g), newStateImportCmd(g), newStateQuarantineCmd(g), newStateDeletedCmd(g)}
	cmd := group("state", "Look into the states of stacks, and change them", append(here, there...)...)
	cmd.Long = stateHelp + exitHelp
	cmd.AddGroup(&cobra.Group{ID: "here", Title: "For a stack of this checkout:"}, &cobra.Group{ID: "there", Title: "For the states that a server keeps:"})
	for _, c := range here {
		c.GroupID = "here"
	}
	for _, c := range there {
		c.GroupID = "there"
	}
	return cmd
}

const stateHelp = `Look into the states of stacks, and change them.

list, show, query, mv and rm are about a stack of this checkout, wherever its state is:
the tool reads and writes it. They show nothing that is sensitive. The others are about
the states that a server keeps, whole, with every secret: import brings states there,
while assize import adopts an object into the state of a stack.
`

func newStatePullCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var to, version string
	cmd := &cobra.Command{
		Use:   "pull STACK",
		Short: "Read the state of a stack",
		Long: `Read the state of a stack, as the tool has written it, with every secret in it. It
goes to standard output, or to a file that nobody else reads.

  assize state pull network-prod -o network.tfstate
  assize state pull network-prod --version sv_4rB1...
` + exitHelp,
		Args: exactlyOne("stack", "assize state pull network-prod"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.statePull(cmd.Context(), r, args[0], version, to)
		},
	}
	r.flags(cmd)
	cmd.Flags().StringVar(&version, "version", "", "`VERSION` that is wanted, an earlier one: its number or its id")
	cmd.Flags().StringVarP(&to, "output", "o", "", "`FILE` to write, instead of standard output")
	return cmd
}

func (g *Globals) statePull(ctx context.Context, r *remote, called, version, path string) error {
	s, err := r.stack(ctx, called)
	if err != nil {
		return err
	}
	v, err := r.version(ctx, s, version)
	if err != nil {
		return err
	}
	body, err := r.Open(ctx, v1.DownloadState{Version: v.ID})
	if err != nil {
		return err
	}
	defer body.Close()
	write := func(out io.Writer) error {
		sum := md5.New() //nolint:gosec // see above
		if _, err := io.Copy(io.MultiWriter(out, sum), body); err != nil {
			return problem.New(api.Unavailable, "the state broke off: %w", err).WithHint("pull it again")
		}
		if hex.EncodeToString(sum.Sum(nil)) != v.MD5 {
			return problem.New(api.Internal, "what came is not what was written: its md5 is another").WithHint("pull it again; if it stays so, tell who runs the server")
		}
		return nil
	}
	if path == "" {
		return write(g.Out)
	}
	return writeWhole(path, 0o600, write)
}

// version is the one with this id or number, which must be of the stack, or the one that
// counts.
func (r *remote) version(ctx context.Context, s v1.Stack, called string) (v1.StateVersion, error) {
	var v v1.StateVersion
	if called == "" {
		return v, r.Ask(ctx, v1.CurrentState{Stack: s.ID}, &v)
	}
	id, err := r.versionID(ctx, s, called)
	if err == nil {
		err = r.Ask(ctx, v1.ShowStateVersion{Version: id}, &v)
	}
	if err == nil && v.Stack != s.ID {
		err = problem.New(api.NotFound, "this version is not one of %s", s.Name)
	}
	if err != nil && problem.Code(err) == api.NotFound {
		return v, problem.New(api.NotFound, "%s has no version %s", s.Name, called).WithHint("assize state versions %s lists them; a version is named by its NUMBER or its ID", s.Name)
	}
	return v, err
}

// versionID is the id of the version with this number. Whatever is no number is an id.
func (r *remote) versionID(ctx context.Context, s v1.Stack, called string) (string, error) {
	number, err := strconv.ParseInt(called, 10, 64)
	if err != nil {
		return called, nil
	}
	for v, err := range client.All[v1.StateVersion](ctx, r.Client, func(p v1.Paging) binding.Request {
		return v1.ListStateVersions{Stack: s.ID, Paging: p}
	}) {
		if err != nil {
			return "", err
		}
		if v.Sequence == number && number > 0 {
			return v.ID, nil
		}
	}
	return "", problem.New(api.NotFound, "there is no such version")
}

func newStatePushCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var force bool
	cmd := &cobra.Command{
		Use:   "push STACK FILE",
		Short: "Write a new version of the state of a stack",
		Long: `Write a new version of the state of a stack: lock it, write, unlock it. The state must
have the lineage of the current one, and a higher serial. To push the same file
again changes nothing. What is refused is kept on the server for an operator.
FILE - is standard input.

  assize state push network-prod network.tfstate
  assize state push network-prod network.tfstate --force
` + exitHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return problem.New(api.Invalid, "push wants a stack and a file").WithHint("assize state push network-prod network.tfstate")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, _, stop := interruptible(cmd.Context())
			defer stop()
			return g.statePush(ctx, r, args[0], args[1], force)
		},
	}
	r.flags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "write even what does not follow the current state")
	return cmd
}

func (g *Globals) statePush(ctx context.Context, r *remote, called, path string, force bool) error {
	s, err := r.stack(ctx, called)
	if err != nil {
		return err
	}
	in := v1.PushState{Stack: s.ID, Force: force, Body: g.In}
	if path != "-" {
		file, err := os.Open(path)
		if err == nil {
			defer file.Close()
			in.Body = file
			in.MD5, err = sumOf(file)
		}
		if err != nil {
			return problem.New(api.Invalid, "the state cannot be read: %w", err).WithHint("name a file that holds it, or - for standard input")
		}
	}
	var v v1.StateVersion
	err = r.holding(ctx, s, "state push", func(key string) error {
		in.Key = key
		return r.Ask(ctx, in, &v)
	})
	if err != nil {
		return lockedOut(err, s)
	}
	_, err = fmt.Fprintf(g.Out, "%s is at serial %d: %s\n", s.Name, v.Serial, v.ID)
	return err
}

// sumOf is the md5 of what can be read twice, "" for what cannot. It leaves it at
// its beginning.
func sumOf(f *os.File) (string, error) {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	sum := md5.New() //nolint:gosec // see above
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	_, err := f.Seek(0, io.SeekStart)
	return hex.EncodeToString(sum.Sum(nil)), err
}

func newStateVersionsCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var most int
	cmd := &cobra.Command{
		Use:   "versions STACK",
		Short: "List the versions of the state of a stack",
		Long: `List the versions of the state of a stack, the newest first. One that has no number
never became the current one.

  assize state versions network-prod
` + exitHelp,
		Args: exactlyOne("stack", "assize state versions network-prod"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.stateVersions(cmd.Context(), r, args[0], most)
		},
	}
	r.flags(cmd)
	r.printing(cmd)
	cmd.Flags().IntVar(&most, "limit", 50, "at most so many versions; 0 for all")
	return cmd
}

func (g *Globals) stateVersions(ctx context.Context, r *remote, called string, most int) error {
	s, err := r.stack(ctx, called)
	if err != nil {
		return err
	}
	versions, err := gather[v1.StateVersion](ctx, r, most, func(p v1.Paging) binding.Request {
		return v1.ListStateVersions{Stack: s.ID, Paging: p}
	})
	if err != nil {
		return err
	}
	return show(g, r, versions, "NUMBER,ID,SERIAL,SIZE,RESOURCES,CREATED,BY", func(v v1.StateVersion) []string {
		number := ""
		if v.Sequence > 0 {
			number = fmt.Sprint(v.Sequence)
		}
		return []string{number, v.ID, fmt.Sprint(v.Serial), fmt.Sprint(v.Size), fmt.Sprint(v.Resources), moment(v.Created), v.Writer.Name}
	})
}

func newStateRollbackCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	cmd := &cobra.Command{
		Use:   "rollback STACK VERSION",
		Short: "Make an earlier version of a state the current one again",
		Long: `Make an earlier version of a state the current one again, as a new version. What was
changed since then in the world stays as it is: run plan afterwards.

  assize state rollback network-prod 41
  assize state rollback network-prod sv_4rB1...

VERSION is a number or an id, as assize state versions shows them.
` + exitHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return problem.New(api.Invalid, "rollback wants a stack and a version").WithHint("assize state versions network-prod lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, _, stop := interruptible(cmd.Context())
			defer stop()
			return g.stateRollback(ctx, r, args[0], args[1])
		},
	}
	r.flags(cmd)
	return cmd
}

func (g *Globals) stateRollback(ctx context.Context, r *remote, called, id string) error {
	s, err := r.stack(ctx, called)
	if err != nil {
		return err
	}
	old, err := r.version(ctx, s, id)
	if err != nil {
		return err
	}
	var v v1.StateVersion
	err = r.holding(ctx, s, "state rollback", func(key string) error {
		return r.Ask(ctx, v1.RollbackState{Version: old.ID, Key: key}, &v)
	})
	if err != nil {
		return lockedOut(err, s)
	}
	_, err = fmt.Fprintf(g.Out, "%s is back at what %s was, serial %d: %s\n", s.Name, old.ID, v.Serial, v.ID)
	return err
}
