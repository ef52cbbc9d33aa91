package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/bundle"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/report/parcel"
)

const inspectHelp = `Show what a bundle is: its digests, how it is judged, and what is in it.

The bundle is opened as strictly as for a judgement, and its policy is checked
by this version's engine: exit code 0 says that plans can be judged by it.

  assize policy inspect policy.tar.gz
  assize policy inspect policy.tar.gz --format json
`

func newPolicyInspectCmd(g *Globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "inspect BUNDLE",
		Short: "Show what a bundle is",
		Long:  inspectHelp + exitHelp,
		Args:  exactlyOne("bundle", "assize policy inspect policy.tar.gz"),
		RunE: func(_ *cobra.Command, args []string) error {
			return runInspect(g, format, args[0])
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "output format: text or json")
	return cmd
}

func runInspect(g *Globals, format, path string) error {
	write := parcel.Text
	switch format {
	case "text":
	case "json":
		write = func(w io.Writer, b api.Bundle) error { return page.JSON(w, b) }
	default:
		return problem.New(api.Invalid, "--format %s is not known", format).WithHint("use text or json")
	}
	if !repo.IsBundle(path) {
		return problem.New(api.Invalid, "%s is no bundle by its name", path).WithHint("bundles end in .tar.gz or .tgz")
	}
	data, err := repo.ReadBundle(".", path)
	if err != nil {
		return err
	}
	src, b, err := bundle.Open(data)
	if err != nil {
		return err
	}
	src.Path, b.Path = path, path
	var unusable error
	b.Contract, unusable = policy.Contract(g.Engines, src)
	if err := write(g.Out, b); err != nil {
		return problem.New(api.Internal, "the result could not be written: %w", err)
	}
	return unusable
}
