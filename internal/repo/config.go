package repo

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
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
	Outer    []Config // those above it in the checkout, the outermost first: their policies bind as well; none has an Outer
}

// FindConfig reads the assize.yaml that governs dir: the nearest one in dir or
// above it, within the checkout, and those above that one. ok is false when
// there is none.
func FindConfig(dir string) (cfg Config, ok bool, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Config{}, false, problem.New(api.Invalid, "%s has no absolute path: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return Config{}, false, unreadable(dir, err)
	}
	found, err := configs(real)
	if err != nil {
		return Config{}, false, err
	}
	if real != abs {
		if err := undodged(abs, dir); err != nil {
			return Config{}, false, err
		}
	}
	if len(found) == 0 {
		return Config{}, false, nil
	}
	cfg, ok = found[0], true
	cfg.Outer = found[1:]
	slices.Reverse(cfg.Outer)
	return cfg, ok, nil
}

// undodged refuses a link at alias that chooses which configuration governs:
// neither the one above the link nor the one above what it leads to may be
// dodged.
func undodged(alias, dir string) error {
	found, err := configs(alias)
	for _, cfg := range found {
		if err == nil {
			_, err = below(cfg.Root, dir)
		}
	}
	return err
}

// configs reads every assize.yaml in abs or above it, within the checkout, the
// nearest first. Problems call each as one finds it from the nearest.
func configs(abs string) (found []Config, err error) {
	for {
		if _, err := os.Lstat(filepath.Join(abs, misnamed)); err == nil {
			return nil, problem.New(api.Invalid, "%s is not read: it would look as if no policy was configured", filepath.Join(abs, misnamed)).
				WithHint("call it %s, or remove it", ConfigName)
		}
		data, err := readSettings(filepath.Join(abs, ConfigName), cmp.Or(checkout(abs), abs))
		if err == nil {
			found = append(found, Config{Root: abs})
			cfg := &found[len(found)-1]
			if cfg.Settings, err = settings.ParseRoot(path.Join(cfg.from(found[0]), ConfigName), data); err != nil {
				return nil, err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			// Anything but absence is an error: a configuration that cannot be read
			// must not count as one that names no policy.
			return nil, unreadable(filepath.Join(abs, ConfigName), err)
		}
		parent := filepath.Dir(abs)
		if _, err := os.Lstat(filepath.Join(abs, ".git")); err == nil || parent == abs {
			return found, nil
		}
		abs = parent
	}
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
