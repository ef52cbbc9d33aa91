package repo

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/settings"
)

// ConfigName is the configuration at the root of a checkout.
const ConfigName = "assize.yaml"

// misnamed is what people call it who call their other files so.
const misnamed = "assize.yml"

// A Config is what assize.yaml says, with the directory it was found in.
type Config struct {
	Root     string // absolute
	Settings *settings.Root
}

// FindConfig reads the assize.yaml that governs dir: the nearest one in dir or
// above it, within the checkout. ok is false when there is none.
func FindConfig(dir string) (cfg Config, ok bool, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Config{}, false, problem.New(api.Invalid, "%s has no absolute path: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return Config{}, false, unreadable(dir, err)
	}
	cfg, ok, err = nearestConfig(real)
	if err != nil || real == abs {
		return cfg, ok, err
	}
	// A link must not choose which configuration governs: neither the one above
	// the link nor the one above what it leads to may be dodged.
	alias, found, err := nearestConfig(abs)
	if err != nil {
		return Config{}, false, err
	}
	if found {
		if _, err := below(alias.Root, dir); err != nil {
			return Config{}, false, err
		}
	}
	return cfg, ok, nil
}

func nearestConfig(abs string) (cfg Config, ok bool, err error) {
	for {
		if _, err := os.Lstat(filepath.Join(abs, misnamed)); err == nil {
			return Config{}, false, problem.New(api.Invalid, "%s is not read: it would look as if no policy was configured", filepath.Join(abs, misnamed)).
				WithHint("call it %s, or remove it", ConfigName)
		}
		data, err := readSettings(filepath.Join(abs, ConfigName), cmp.Or(checkout(abs), abs))
		if err == nil {
			root, err := settings.ParseRoot(ConfigName, data)
			return Config{Root: abs, Settings: root}, err == nil, err
		}
		// Anything but absence is an error: a configuration that cannot be read
		// must not count as one that names no policy.
		if !errors.Is(err, fs.ErrNotExist) {
			return Config{}, false, unreadable(filepath.Join(abs, ConfigName), err)
		}
		parent := filepath.Dir(abs)
		if _, err := os.Lstat(filepath.Join(abs, ".git")); err == nil || parent == abs {
			return Config{}, false, nil
		}
		abs = parent
	}
}

// PoliciesFor reads the policies that bind the stack in dir.
func (c Config) PoliciesFor(dir string) ([]policy.Source, error) {
	stack, err := below(c.Root, dir)
	if err != nil {
		return nil, err
	}
	var sources []policy.Source
	for _, p := range c.Settings.Policies {
		if !p.Binds(filepath.ToSlash(stack)) {
			continue
		}
		src, err := ReadPolicy(c.Root, p.Path)
		if err != nil {
			return nil, err
		}
		src.Enforcement = p.Enforcement
		sources = append(sources, src)
	}
	return sources, nil
}

// below is the place of dir in root, links resolved: a link must not lead
// around the policies that bind what it leads to.
func below(root, dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", unreadable(dir, err)
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", problem.New(api.Invalid, "%s leads out of the directory of %s", dir, ConfigName).
			WithHint("name the stack's own directory")
	}
	return rel, nil
}
