package repo

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"go.yaml.in/yaml/v3"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// ConfigName is the configuration at the root of a checkout.
const ConfigName = "assize.yaml"

// misnamed is what people call it who call their other files so.
const misnamed = "assize.yml"

// goType is what the YAML library says of our types, which mean nothing to the
// author of a file.
var goType = regexp.MustCompile(` in type \S+`)

// A Config is what assize.yaml says, with the directory it was found in.
type Config struct {
	Root       string          `yaml:"-"`
	Policies   []*PolicyConfig `yaml:"policies"`   // pointers, so that a null entry is seen and refused
	Exceptions *string         `yaml:"exceptions"` // path of a file of exceptions, relative to the root; nil is none
}

// A PolicyConfig names one policy and the stacks it binds.
type PolicyConfig struct {
	Path        string          `yaml:"path"` // relative to the root
	Enforcement api.Enforcement `yaml:"enforcement"`
	Stacks      []*string       `yaml:"stacks"` // doublestar globs of stack directories; empty means all; pointers as above
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
		data, err := readConfig(filepath.Join(abs, ConfigName))
		if err == nil {
			cfg, err := parseConfig(data)
			cfg.Root = abs
			return cfg, err == nil, err
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

// readConfig tells a link that leads nowhere from a file that is not there:
// only the latter says that nothing was configured.
func readConfig(path string) ([]byte, error) {
	data, err := readAtMost(path, maxPolicyBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := os.Lstat(path); lerr == nil {
			return nil, errors.New("it is a link that leads nowhere")
		}
	}
	return data, err
}

func parseConfig(data []byte) (Config, error) {
	var cfg Config
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&cfg); err != nil && !errors.Is(err, io.EOF) { // an empty file says nothing
		text := goType.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "")
		return Config{}, problem.New(api.Invalid, "%s: %s", ConfigName, strings.Join(strings.Fields(text), " ")).
			WithHint("this version knows the keys policies, with path, enforcement and stacks, and exceptions")
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Config{}, problem.New(api.Invalid, "%s: more than one YAML document", ConfigName)
	}
	if cfg.Exceptions != nil && *cfg.Exceptions == "" {
		return Config{}, problem.New(api.Invalid, "%s: exceptions is empty", ConfigName).WithHint("name a file of exceptions, or leave the key out")
	}
	for i := range cfg.Policies {
		if err := cfg.Policies[i].check(); err != nil {
			return Config{}, err
		}
	}
	return cfg, nil
}

func (c *PolicyConfig) check() error {
	if c == nil || c.Path == "" {
		return problem.New(api.Invalid, "%s: a policy has no path", ConfigName)
	}
	switch c.Enforcement {
	case "":
		c.Enforcement = api.HardMandatory
	case api.Advisory, api.SoftMandatory, api.HardMandatory:
	default:
		return problem.New(api.Invalid, "%s: policy %s: enforcement %q is none of advisory, soft_mandatory, hard_mandatory",
			ConfigName, c.Path, c.Enforcement)
	}
	for _, entry := range c.Stacks {
		var glob string
		if entry != nil {
			glob = *entry
		}
		if clean := path.Clean(glob); glob == "" || clean != glob || path.IsAbs(glob) || glob == ".." || strings.HasPrefix(glob, "../") {
			return problem.New(api.Invalid, "%s: policy %s: stacks: %q never matches a directory", ConfigName, c.Path, glob).
				WithHint("write it relative to the root, such as infra/prod or infra/**")
		}
		if !doublestar.ValidatePattern(glob) {
			return problem.New(api.Invalid, "%s: policy %s: stacks: %q is no valid pattern", ConfigName, c.Path, glob)
		}
	}
	return nil
}

// PoliciesFor reads the policies that bind the stack in dir.
func (c Config) PoliciesFor(dir string) ([]policy.Source, error) {
	stack, err := below(c.Root, dir)
	if err != nil {
		return nil, err
	}
	var sources []policy.Source
	for _, p := range c.Policies {
		if !p.binds(filepath.ToSlash(stack)) {
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

// Place is where dir is below the root, slash-separated. Paths of policies mean
// the same files only where it is the same.
func (c Config) Place(dir string) (string, error) {
	place, err := below(c.Root, dir)
	return filepath.ToSlash(place), err
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

func (c PolicyConfig) binds(stack string) bool {
	if len(c.Stacks) == 0 {
		return true
	}
	for _, glob := range c.Stacks {
		if doublestar.MatchUnvalidated(*glob, stack) {
			return true
		}
	}
	return false
}
