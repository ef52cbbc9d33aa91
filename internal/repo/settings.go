package repo

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/settings"
)

// DirectoryConfigName is the configuration in the directory of a stack.
const DirectoryConfigName = ".assize.yaml"

// settingsMax bounds assize.yaml and .assize.yaml, in bytes.
const settingsMax = 1 << 20

// Settings is the configuration that governs dir: that of [FindConfig], or
// without a file the one that says nothing, at the root of the checkout. In no
// checkout, dir is the root.
func Settings(dir string) (Config, error) {
	cfg, ok, err := FindConfig(dir)
	if err != nil || ok {
		return cfg, err
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return Config{}, unreadable(dir, err)
	}
	root, err := settings.ParseRoot(ConfigName, nil)
	return Config{Root: cmp.Or(checkout(abs), abs), Settings: root}, err
}

// Directory reads the .assize.yaml of the directory dir, which is relative to
// the root and slash-separated. No file says nothing.
func (c Config) Directory(dir string) (*settings.Directory, error) {
	if _, err := below(c.Root, filepath.Join(c.Root, filepath.FromSlash(dir))); err != nil {
		return nil, err
	}
	return c.directory(dir)
}

// directory is Directory for a path that no link is on.
func (c Config) directory(dir string) (*settings.Directory, error) {
	name := path.Join(dir, DirectoryConfigName)
	data, err := readSettings(filepath.Join(c.Root, filepath.FromSlash(name)), c.Root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(name, err)
	}
	return settings.ParseDirectory(name, data)
}

// MatchVarFiles lists the files of the directory dir that
// stacks.instances.from_var_files matches, relative to it, slash-separated and
// sorted; none where the key is not set.
func (c Config) MatchVarFiles(dir string) ([]string, error) {
	glob := c.Settings.Stacks.FromVarFiles.Value
	if glob == "" {
		return nil, nil
	}
	full := filepath.Join(c.Root, filepath.FromSlash(dir))
	found, err := varFiles(os.DirFS(full), glob)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	for _, name := range found {
		if _, err := below(c.Root, filepath.Join(full, filepath.FromSlash(name))); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func varFiles(files fs.FS, glob string) ([]string, error) {
	found, err := doublestar.Glob(files, glob, doublestar.WithFilesOnly(), doublestar.WithNoFollow(), doublestar.WithFailOnIOErrors())
	slices.Sort(found)
	return slices.DeleteFunc(found, func(name string) bool { // what init has downloaded is nobody's configuration
		return strings.HasPrefix(name, ".terraform/") || strings.Contains(name, "/.terraform/")
	}), err
}

// readSettings reads a small regular file that lies in the checkout, links
// resolved: what governs a stack is reviewed with it. It tells a link that leads
// nowhere from a file that is not there: only the latter says that nothing was
// configured.
func readSettings(name, root string) ([]byte, error) {
	info, err := os.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if info, err = os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("it is a link that leads nowhere")
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // never opened: a pipe might never end
		return nil, errors.New("it is no regular file")
	}
	if _, err := below(root, name); err != nil {
		return nil, problem.New(api.Invalid, "it is a link that leads out of the checkout").WithHint("copy the file, or link to one in the checkout")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, settingsMax+1))
	if len(data) > settingsMax {
		return nil, fmt.Errorf("it has more than %d KiB", settingsMax>>10)
	}
	return data, err
}

// Place is where dir is below the root: slash-separated, "." for the root, links
// resolved.
func (c Config) Place(dir string) (string, error) {
	rel, err := below(c.Root, dir)
	return filepath.ToSlash(rel), err
}
