package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/serve"
)

const serverHelp = `Keep the states of a team, and the record of who did what to them.

Without any configuration it starts a Postgres of its own, makes a certificate
authority, a key and a token of an administrator in a data directory, listens on
localhost, and says what to type next. In production it is told where the
database and the artifacts are, and which certificate to show; then any number of
replicas can run. docs/server.md says all of it.

  assize server
  assize server --data /srv/assize --listen localhost:9443
  DATABASE_URL=postgres://... assize server --listen 0.0.0.0:443 --public-url https://assize.example.com \
    --tls-cert server.pem --tls-key server-key.pem --artifacts s3://bucket/assize --artifact-key-file artifacts.key

Each flag can be set by a variable too, and secrets only so:
`

func newServerCmd(g *Globals) *cobra.Command {
	settings := serve.Defaults(os.Getenv)
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Keep the states of a team, for unchanged tofu and terraform",
		Long:  serverHelp + serve.Variables() + exitHelp,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			if err := settings.ReadEnvironment(os.Getenv, cmd.Flags().Changed); err != nil {
				return err
			}
			return runServer(cmd.Context(), g, settings)
		},
	}
	settingFlags(cmd, &settings)
	cmd.AddCommand(newServerRotateCmd(g))
	return cmd
}

// settingFlags adds the flags of a server's settings.
func settingFlags(cmd *cobra.Command, settings *serve.Settings) {
	for _, s := range settings.Table() {
		if s.Flag == "" {
			continue
		}
		cmd.Flags().Var(s.Value, s.Flag, s.Meaning)
		if s.Value.Type() == "bool" {
			cmd.Flags().Lookup(s.Flag).NoOptDefVal = "true"
		}
	}
}

// runServer serves until the first signal, and is done once what was running has
// ended; the second signal does not wait for that.
func runServer(parent context.Context, g *Globals, settings serve.Settings) error {
	ctx, force, stop := interruptible(parent)
	defer stop()
	server, err := serve.Start(ctx, settings, serverLog(g.Err, settings.LogFormat))
	if err != nil {
		return err
	}
	server.Welcome(g.Out)
	err = server.Wait(ctx)
	if errStop := stopServer(context.WithoutCancel(parent), server, force); err == nil {
		err = errStop
	}
	return err
}

// lastWait is how long the second signal still waits for what has been cut off.
const lastWait = 20 * time.Second

// stopServer ends a server in order, or quickly once force says so.
func stopServer(ctx context.Context, server *serve.Server, force <-chan struct{}) error {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	stopped := make(chan error, 1)
	go func() { stopped <- server.Stop(ctx) }()
	select {
	case err := <-stopped:
		return err
	case <-force:
		cut()
	}
	select {
	case err := <-stopped:
		return err
	case <-time.After(lastWait):
		return problem.New(api.Limited, "the server did not end in order; what it has acknowledged is kept")
	}
}

// serverLog is where a server says what happens.
func serverLog(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
