package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/serve"
)

// artifactKeys is the variable that holds the keys where no file does.
const artifactKeys = "ASSIZE_ARTIFACT_KEY"

func newArtifactCmd(g *Globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "artifact",
		Short: "Look after the bytes that a server keeps",
		Long:  "Look after the bytes that a server keeps: states, plans, configurations, logs.\n" + exitHelp,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	cmd.AddCommand(newArtifactVerifyCmd(g))
	return cmd
}

const artifactVerifyHelp = `Read every artifact to its end, and name those that are damaged.

DIR is the data directory of the server, or a copy of it; PLACE is what the server
was given as --artifacts, a directory or a bucket. Nothing there is changed, and the
server may run. The keys come from --key-file, or from the variable
ASSIZE_ARTIFACT_KEY, or from the file that a server on a laptop has made,
DIR/artifact-key: see docs/artifacts.md.

  assize artifact verify --data /var/lib/assize
  assize artifact verify --artifacts s3://bucket/assize --key-file artifacts.key
`

func newArtifactVerifyCmd(g *Globals) *cobra.Command {
	var data, place, keyFile string
	cmd := &cobra.Command{
		Use:   "verify --data DIR | --artifacts PLACE",
		Short: "Read every artifact and name those that are damaged",
		Long:  artifactVerifyHelp + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case (data == "") == (place == ""):
				return problem.New(api.Invalid, "what is to be read is named by --data or by --artifacts, and by one of them").
					WithHint("assize artifact verify --data /var/lib/assize --key-file artifacts.key")
			case place == "":
				return runArtifactVerify(cmd.Context(), g, filepath.Join(data, "artifacts"), keysOf(data, keyFile))
			}
			return runArtifactVerify(cmd.Context(), g, place, keyFile)
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "data `DIR` of the server, or a copy of it")
	cmd.Flags().StringVar(&place, "artifacts", "", "`PLACE` of the artifacts, as the server was given it: a directory, or s3://BUCKET/PREFIX?region=R&endpoint=URL")
	cmd.Flags().StringVar(&keyFile, "key-file", "", "`FILE` of keys, instead of "+artifactKeys+" and DIR/artifact-key")
	return cmd
}

// runArtifactVerify takes no artifacts for no proof: a directory that was never
// mounted must not look like one that is well (docs/artifacts.md, rule 13).
func runArtifactVerify(ctx context.Context, g *Globals, place, keyFile string) error {
	keys, err := artifactRing(keyFile)
	if err != nil {
		return err
	}
	store, err := serve.OpenArtifacts(ctx, place, keys)
	if err != nil {
		return err
	}
	defer store.Close()
	v, err := store.Verify(ctx, func(err error) { fmt.Fprintln(g.Out, withCause(err)) })
	if err != nil {
		return err
	}
	if v.Litter > 0 {
		fmt.Fprintf(g.Out, "%s that no artifact has: of writes in progress, or for the next sweep.\n", page.Plural(v.Litter, "object"))
	}
	seen := v.Artifacts + v.Damaged + v.Unread
	switch {
	case !v.Whole():
		return unwhole(v, seen)
	case seen == 0:
		return problem.New(api.NotFound, "there are no artifacts in %s: nothing was verified", place).
			WithHint("--data names the directory that the server was given as --data, --artifacts what it was given as --artifacts")
	}
	fmt.Fprintf(g.Out, "%s, %s: all are whole.\n", page.Plural(seen, "artifact"), page.Plural(int(v.Bytes), "byte"))
	return nil
}

// withCause is what is wrong with an artifact, and what the machine says about that.
func withCause(err error) string {
	text, cause := err.Error(), errors.Unwrap(err)
	if cause == nil || strings.Contains(text, cause.Error()) {
		return text
	}
	return text + ": " + cause.Error()
}

func unwhole(v artifact.Verified, seen int) error {
	var wrong []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{v.Damaged, fmt.Sprintf("%d of %d damaged", v.Damaged, seen)},
		{v.Unread, fmt.Sprintf("%d of %d could not be read", v.Unread, seen)},
		{v.Strangers, page.Plural(v.Strangers, "object") + " among them no part of any"},
	} {
		if part.n > 0 {
			wrong = append(wrong, part.what)
		}
	}
	err := problem.New(api.Internal, "the artifacts are not whole: %s", strings.Join(wrong, ", "))
	if v.Damaged > 0 {
		return err.WithHint("docs/artifacts.md, rule 13, says how a damaged artifact is mended")
	}
	return err
}

// keysOf is the file of keys that was named; else, without any in the environment,
// the one that a server on a laptop has made in its data directory, if it is there.
func keysOf(data, named string) string {
	made := filepath.Join(data, "artifact-key")
	if _, err := os.Stat(made); err != nil || named != "" || os.Getenv(artifactKeys) != "" {
		return named
	}
	return made
}

// artifactRing reads the keys. What was typed is stronger than the environment.
func artifactRing(file string) (*artifact.Ring, error) {
	if file != "" {
		return artifact.ReadRing(file)
	}
	text := os.Getenv(artifactKeys)
	if text == "" {
		return nil, problem.New(api.Invalid, "there is no key to read artifacts with").
			WithHint("name a file of keys with --key-file, or set %s", artifactKeys)
	}
	keys, err := artifact.ParseRing(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", artifactKeys, err)
	}
	return keys, nil
}
