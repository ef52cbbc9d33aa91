// Package repo reads a checkout: the policies and the configuration in it. It
// knows files, names and positions; what a policy means is for the engines.
package repo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/bundle"
	"github.com/assize-iac/assize/internal/problem"
)

// Bounds of what is read as one policy: more is a mistake, such as naming the
// root of a checkout.
const (
	maxPolicyFiles = 5_000
	maxPolicyBytes = 64 << 20
)

// languages maps a file's extension to the language it is written in.
var languages = map[string]api.Language{
	".json": api.Rules, ".yaml": api.Rules, ".yml": api.Rules,
	".rego": api.Rego,
	".cue":  api.CUE,
}

// ReadPolicy reads the policy at path, a file, a directory or a bundle; its
// language follows from what it holds. A relative path is resolved in dir, and the
// policy keeps the name it was given (seed 003, "Refusals of the policy
// itself").
func ReadPolicy(dir, path string) (policy.Source, error) {
	return ReadPolicyAs(dir, path, "")
}

// ReadPolicyAs is ReadPolicy for a path whose language was said; other files
// of a directory are left out.
func ReadPolicyAs(dir, path string, lang api.Language) (policy.Source, error) {
	if path == "" {
		return policy.Source{}, problem.New(api.Invalid, "a policy has an empty path").
			WithHint("name a policy file or directory; is a variable of the command line empty?")
	}
	full := resolve(dir, path)
	info, err := os.Stat(full)
	if err != nil {
		return policy.Source{}, unreadable(path, err)
	}
	src, home := policy.Source{Path: path, Language: lang}, full
	switch {
	case info.IsDir():
		src, err = readDirPolicy(src, full)
	case IsBundle(path):
		return readBundlePolicy(dir, src)
	default:
		src, err = readFilePolicy(src, full)
		home = filepath.Dir(full)
	}
	if err == nil {
		err = outsideSpecification(src, home)
	}
	return src, err
}

// IsBundle reports whether a file of this name is read as a bundle.
func IsBundle(path string) bool {
	name := strings.ToLower(path)
	return slices.ContainsFunc(bundleExtensions(), func(ext string) bool { return strings.HasSuffix(name, ext) })
}

func bundleExtensions() []string { return []string{".tar.gz", ".tgz"} }

// ReadBundle reads the bytes of a bundle, not more than one may have.
func ReadBundle(dir, path string) ([]byte, error) {
	if path == "" {
		return nil, problem.New(api.Invalid, "a bundle has an empty path")
	}
	data, err := readAtMost(resolve(dir, path), bundle.MaxBytes)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return data, nil
}

func readBundlePolicy(dir string, src policy.Source) (policy.Source, error) {
	data, err := ReadBundle(dir, src.Path)
	if err != nil {
		return policy.Source{}, err
	}
	opened, _, err := bundle.Open(data)
	if err != nil {
		return policy.Source{}, problem.New(problem.Code(err), "policy %s: %w", src.Path, err).WithHint("%s", problem.Hint(err))
	}
	if src.Language != "" && src.Language != opened.Language {
		return policy.Source{}, problem.New(api.Invalid, "policy %s is a bundle of %s, not of %s", src.Path, opened.Language, src.Language).
			WithHint("name it with --policy or --%s", opened.Language)
	}
	opened.Path = src.Path
	return opened, nil
}

func readFilePolicy(src policy.Source, full string) (policy.Source, error) {
	lang := languages[strings.ToLower(filepath.Ext(full))]
	if src.Language == "" {
		src.Language = lang
	}
	if src.Language == "" {
		return policy.Source{}, problem.New(api.Invalid, "policy %s: its name does not say the language", src.Path).
			WithHint("policies end in .json, .yaml or .yml (rules), .rego, .cue, or .tar.gz (a bundle)")
	}
	if lang != src.Language {
		return policy.Source{}, problem.New(api.Invalid, "policy %s is no %s policy by its name", src.Path, src.Language).
			WithHint("policies end in .json, .yaml or .yml (rules), .rego, .cue, or .tar.gz (a bundle)")
	}
	data, err := readAtMost(full, maxPolicyBytes)
	if err != nil {
		return policy.Source{}, unreadable(src.Path, err)
	}
	src.Files = []policy.File{{Name: filepath.Base(full), Data: data}}
	return src, nil
}

// readDirPolicy takes every file of the policy's language below root. Without
// a language, files of two languages are refused rather than one of them
// silently left out.
func readDirPolicy(src policy.Source, root string) (policy.Source, error) {
	names, err := regularFiles(root)
	if err != nil {
		return policy.Source{}, unreadable(src.Path, err)
	}
	if src.Language == "" {
		if src.Language, err = languageOf(src.Path, names); err != nil {
			return policy.Source{}, err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return languages[strings.ToLower(filepath.Ext(name))] != src.Language
	})
	if len(names) == 0 {
		return policy.Source{}, problem.New(api.NotFound, "policy %s holds no %s file", src.Path, src.Language).
			WithHint("a directory without a policy judges nothing; check the path")
	}
	src.Files, err = readFiles(src.Path, root, names)
	return src, err
}

func languageOf(path string, names []string) (api.Language, error) {
	var found []string
	for _, name := range names {
		if lang := languages[strings.ToLower(filepath.Ext(name))]; lang != "" && !slices.Contains(found, string(lang)) {
			found = append(found, string(lang))
		}
	}
	switch len(found) {
	case 1:
		return api.Language(found[0]), nil
	case 0:
		return "", problem.New(api.NotFound, "policy %s holds no policy", path).
			WithHint("policies end in .json, .yaml or .yml (rules), .rego, .cue, or .tar.gz (a bundle)")
	}
	return "", problem.New(api.Invalid, "policy %s holds policies in several languages (%s)", path, strings.Join(found, ", ")).
		WithHint("name the files, or use --rules, --rego and --cue to say which of them to read")
}

// ReadData reads documents for Rego policies: one file, or every JSON and YAML
// file below a directory.
func ReadData(dir, path string) ([]policy.File, error) {
	if path == "" {
		return nil, problem.New(api.Invalid, "a path of data is empty").
			WithHint("name a file or directory of documents; is a variable of the command line empty?")
	}
	full := resolve(dir, path)
	info, err := os.Stat(full)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if !info.IsDir() {
		return readFiles(path, filepath.Dir(full), []string{filepath.Base(full)})
	}
	names, err := regularFiles(full)
	if err != nil {
		return nil, unreadable(path, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return languages[strings.ToLower(filepath.Ext(name))] != api.Rules
	})
	if len(names) == 0 {
		return nil, problem.New(api.NotFound, "%s holds no JSON or YAML file", path).WithHint("check the path of --data")
	}
	return readFiles(path, full, names)
}

// ReadFile reads one file that is no policy, such as exceptions, for the
// caller to understand. A relative path is resolved in dir.
func ReadFile(dir, path string) ([]byte, error) {
	if path == "" {
		return nil, problem.New(api.Invalid, "a path is empty").WithHint("is a variable of the command line empty?")
	}
	data, err := readAtMost(resolve(dir, path), maxPolicyBytes)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return data, nil
}

// regularFiles lists the files below root by slash-separated relative name,
// sorted, hidden ones included and links followed: a policy file that is
// silently left out judges nothing (docs/policy.md, rule 38). Git's own
// directory holds no policy.
func regularFiles(root string) ([]string, error) {
	w := walk{visiting: map[string]bool{}}
	err := w.dir(root, "")
	slices.Sort(w.names)
	return w.names, err
}

type walk struct {
	names    []string
	dirs     int             // links that fan out double the walk with each level, even without a file
	visiting map[string]bool // resolved directories that the walk is in, so that a link cannot lead in a circle
}

func (w *walk) dir(root, rel string) error {
	full := filepath.Join(root, filepath.FromSlash(rel))
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return err
	}
	if w.visiting[real] {
		return nil
	}
	if w.dirs++; w.dirs > maxPolicyFiles*10 {
		return problem.New(api.TooLarge, "it holds too many directories")
	}
	w.visiting[real] = true
	defer delete(w.visiting, real)
	entries, err := os.ReadDir(real)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.ToSlash(filepath.Join(rel, e.Name()))
		info, err := os.Stat(filepath.Join(real, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist) && e.Type()&fs.ModeSymlink != 0:
			// Whatever it is called, it may have led to a directory of policies.
			return fmt.Errorf("%s is a link that leads nowhere", name)
		case err != nil:
			return err
		case info.IsDir() && e.Name() != ".git":
			if err := w.dir(root, name); err != nil {
				return err
			}
		case !info.IsDir():
			w.names = append(w.names, name)
		}
		if len(w.names) > maxPolicyFiles*10 {
			return problem.New(api.TooLarge, "it holds too many files")
		}
	}
	return nil
}

func readFiles(path, root string, names []string) ([]policy.File, error) {
	if len(names) > maxPolicyFiles {
		return nil, problem.New(api.TooLarge, "%s holds %d files, at most %d are read", path, len(names), maxPolicyFiles)
	}
	files := make([]policy.File, 0, len(names))
	total := 0
	for _, name := range names {
		data, err := readAtMost(filepath.Join(root, filepath.FromSlash(name)), maxPolicyBytes-total)
		if errors.Is(err, errLarge) {
			return nil, problem.New(api.TooLarge, "%s holds more than %d MiB of policy", path, maxPolicyBytes>>20)
		}
		if err != nil {
			return nil, unreadable(filepath.Join(path, name), err)
		}
		total += len(data)
		files = append(files, policy.File{Name: name, Data: data})
	}
	return files, nil
}

// readRegular reads a file of any size.
func readRegular(path string) ([]byte, error) { return readAtMost(path, math.MaxInt-1) }

var (
	errLarge     = errors.New("it is too large")
	errIrregular = errors.New("it is no regular file")
)

// readAtMost never opens a pipe or a device, which might never end, and does not
// wait for a file that became one meanwhile. Without a bound, one large file
// would be the end of the process, and how that ends is nobody's exit code.
func readAtMost(path string, most int) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errIrregular
	case info.Size() > int64(most):
		return nil, errLarge
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(f, int64(most)+1)); err != nil {
		return nil, err
	}
	if data.Len() > most { // it has grown
		return nil, errLarge
	}
	return data.Bytes(), nil
}

func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// unreadable names the file as the user did; the system's error repeats a path
// of its own.
func unreadable(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return problem.New(api.NotFound, "%s does not exist", path).
			WithHint("check the path; relative paths start in the current directory, or in the one that -C names")
	}
	if errors.Is(err, errLarge) {
		return problem.New(api.TooLarge, "%s is larger than %d MiB", path, maxPolicyBytes>>20)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return problem.New(api.Invalid, "%s cannot be read: %w", path, err)
}
