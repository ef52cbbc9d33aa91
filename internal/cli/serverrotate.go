package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/serve"
)

const rotateHelp = `Wrap everything that a server keeps anew, with the first of its keys.

Put a new key first into the key file, above the old one, and start every server anew
with it; then run this with the settings of the server, and remove the old key when it
has ended without an error. Nothing is encrypted anew but the keys of what is kept, so
it is quick. It may run beside the servers, be broken off, and be run again: it goes on.
A server with a private Postgres is stopped first. docs/secrets.md, rule 13, says more.

  assize server rotate
  DATABASE_URL=postgres://... assize server rotate --artifacts s3://bucket/assize --artifact-key-file artifacts.key

`

func newServerRotateCmd(g *Globals) *cobra.Command {
	settings := serve.Defaults(os.Getenv)
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Wrap everything anew, after a change of keys",
		Long:  rotateHelp + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settings.ReadEnvironment(os.Getenv, cmd.Flags().Changed); err != nil {
				return err
			}
			return g.serverRotate(cmd.Context(), settings, asJSON)
		},
	}
	settingFlags(cmd, &settings)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (g *Globals) serverRotate(parent context.Context, settings serve.Settings, asJSON bool) error {
	ctx, _, stop := interruptible(parent)
	defer stop()
	p := newProgress(g.Err, g.Out, "artifacts")
	p.step("wrapping anew")
	r, err := serve.Rotate(ctx, settings, func(looked, anew int) { p.count(fmt.Sprintf("wrapped anew %d out of %d", anew, looked)) })
	p.stop()
	if err != nil && ctx.Err() != nil {
		return problem.New(api.Limited, "it was interrupted; %s so far", rotated(r)).
			WithHint("keep all keys; the same command once more goes on where it ended")
	}
	if err != nil {
		return err
	}
	if asJSON {
		return page.JSON(g.Out, r)
	}
	fmt.Fprintf(g.Out, "Everything is wrapped with %s: %s.\n", r.Key, rotated(r))
	if len(r.Unneeded) > 0 {
		_, err = fmt.Fprintf(g.Out, "Once every server has that key first, nothing needs %s any more.\n", strings.Join(r.Unneeded, ", "))
	}
	return err
}

// rotated says how much was wrapped anew.
func rotated(r serve.Rotation) string {
	return page.Plural(r.Secrets, "secret") + " and " + page.Plural(r.Artifacts, "artifact") + " wrapped anew"
}
