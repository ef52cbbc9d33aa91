package cli

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

const versionHelp = `Print the version of assize and of the evaluators inside it.

A verdict depends on the evaluator: the same policy judged by another version of
OPA or CUE may be judged differently, so each verdict names the one that made it.
`

func newVersionCmd(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of assize and of its evaluators",
		Long:  versionHelp + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprint(g.Out, versions(g))
			return nil
		},
	}
}

func versions(g *Globals) string {
	var b strings.Builder
	fmt.Fprintf(&b, "assize %s (%s, %s/%s)\n", g.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, e := range g.Engines {
		fmt.Fprintf(&b, "%-5s %s\n", e.Language(), e.Evaluator())
	}
	return b.String()
}
