package cli

import (
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/report/inforce"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

const configHelp = `Show what is in force for a stack, and where each value came from: a line of
assize.yaml or of the stack's .assize.yaml, a variable of the environment, or the
default.

STACK is a key: the path of the stack's directory from the root, and :instance
where it has instances. Without STACK, it is the directory you stand in.

  assize config
  assize config infra/network:production
  assize config infra/network:production --format json

Values that are called like a secret, such as DB_PASSWORD, are not shown.
`

func newConfigCmd(g *Globals) *cobra.Command {
	var dir, format string
	cmd := &cobra.Command{
		Use:   "config [STACK]",
		Short: "Show what is in force for a stack, and where each value came from",
		Long:  configHelp + exitHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return runConfig(g, dir, format, args)
		},
	}
	cmd.Flags().StringVarP(&dir, "chdir", "C", ".", "work in `DIR`; it decides which assize.yaml is read")
	cmd.Flags().StringVar(&format, "format", "text", "output format: text or json")
	cmd.AddCommand(newConfigSchemaCmd(g))
	return cmd
}

func runConfig(g *Globals, dir, format string, args []string) error {
	write := inforce.Text
	switch format {
	case "text":
	case "json":
		write = func(w io.Writer, c api.Config) error { return page.JSON(w, c) }
	default:
		return problem.New(api.Invalid, "--format %s is not known", format).WithHint("use text or json")
	}
	cfg, err := repo.Settings(dir)
	if err != nil {
		return err
	}
	key, err := stackKey(cfg, dir, args)
	if err != nil {
		return err
	}
	c, err := inForce(cfg, key)
	if err != nil {
		return err
	}
	for _, warning := range c.Warnings {
		report.Problem(g.Err, "warning", warning)
	}
	if err := write(g.Out, c); err != nil {
		return problem.New(api.Internal, "the result could not be written: %w", err)
	}
	return nil
}

// stackKey is the key that the command line names, or that of dir.
func stackKey(cfg repo.Config, dir string, args []string) (stack.Key, error) {
	if len(args) == 0 {
		place, err := cfg.Place(dir)
		return stack.Key{Path: place}, err
	}
	key, err := stack.ParseKey(args[0])
	if err != nil {
		return key, err
	}
	if key.Repo != "" {
		return key, problem.New(api.Invalid, "%s is a stack of another repository", args[0])
	}
	key.Path = path.Clean(key.Path)
	if !filepath.IsLocal(filepath.FromSlash(key.Path)) {
		return key, problem.New(api.Invalid, "%q leads out of the repository", args[0]).WithHint("write the path from the directory of assize.yaml")
	}
	full := filepath.Join(cfg.Root, filepath.FromSlash(key.Path))
	if info, err := os.Stat(full); err != nil || !info.IsDir() {
		return key, problem.New(api.NotFound, "%s is no directory", key.Path).
			WithHint("write the path from the directory of %s, and :instance where the stack has instances", repo.ConfigName)
	}
	// A nearer file governs the stack, and what this one says would not be true.
	nearer, found, err := repo.FindConfig(full)
	if err == nil && found && nearer.Root != cfg.Root {
		err = problem.New(api.Invalid, "another %s than that of %s governs %s", repo.ConfigName, cfg.Root, key.Path).
			WithHint("name it with -C %s instead", key.Path)
	}
	return key, err
}

func inForce(cfg repo.Config, key stack.Key) (api.Config, error) {
	e, warnings, err := effective(cfg, key)
	if err != nil {
		return api.Config{}, err
	}
	return inforce.List(cfg.Settings, cfg.Panels(key.Path), e, warnings), nil
}

// effective is what holds for a stack, the variables of this process included.
func effective(cfg repo.Config, key stack.Key) (e settings.Effective, warnings []string, err error) {
	directory, err := cfg.Directory(key.Path)
	if err != nil {
		return e, nil, err
	}
	matched, err := cfg.MatchVarFiles(key.Path)
	if err != nil {
		return e, nil, err
	}
	e, warnings, err = settings.ResolveKey(settings.Lookup{Root: cfg.Settings, Directory: directory, Matched: matched}, key)
	if err != nil {
		return e, nil, err
	}
	return e, warnings, e.Override(os.Getenv)
}
