package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// lockFileName is the dependency lock file of both tools.
const lockFileName = ".terraform.lock.hcl"

// configurationSuffixes are those of the files the tools read; Terraform does
// not know the last two, and a digest over more than is read is only stricter.
var configurationSuffixes = []string{".tf", ".tf.json", ".tofu", ".tofu.json"}

// configuration is the digest of every configuration file in the stack's
// directory and in the local modules it calls, by relative name and content.
// Modules from elsewhere are pinned by their versions and are in the plan file.
// The digests of single files only say which have changed; they are nil where there
// are more than filesMax.
func (s *Stack) configuration() (digest string, files map[string]string, err error) {
	dirs, err := s.localModules()
	if err != nil {
		return "", nil, err
	}
	files = map[string]string{}
	h := sha256.New()
	fmt.Fprintln(h, "assize.configuration/v1")
	for _, dir := range dirs {
		names, err := s.list(dir, isConfiguration)
		if err != nil {
			return "", nil, err
		}
		fmt.Fprintf(h, "%q %d\n", dir, len(names))
		for _, name := range names {
			path, one := filepath.Join(dir, name), sha256.New()
			if err := s.add(io.MultiWriter(h, one), path); err != nil {
				return "", nil, err
			}
			if utf8.ValidString(path) { // what JSON cannot write would be another name
				files[filepath.ToSlash(path)] = sum(one)
			}
		}
	}
	if s.Specified() { // nobody has written what it comes to
		files = s.texts
	}
	if len(files) > filesMax {
		files = nil
	}
	return sum(h), files, nil
}

// filesMax is how many files a warrant names: enough for a person, and little
// beside the plan.
const filesMax = 300

// isConfiguration is the tools' own notion of it: hidden files and those that
// editors leave behind are not read.
func isConfiguration(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") {
		return false
	}
	return slices.ContainsFunc(configurationSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// localModules lists the stack's directory and those of its local modules,
// relative to the stack, as the tool's own record has them since init.
func (s *Stack) localModules() ([]string, error) {
	dirs := []string{"."}
	data, err := os.ReadFile(filepath.Join(s.Session.DataDir(), "modules", "modules.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return dirs, nil
	}
	var record struct {
		Modules []module
	}
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil {
		return nil, problem.New(api.Unavailable, "the record of modules cannot be read: %w", err).WithHint("%s init", s.Session.Tool.Name)
	}
	installed := map[string]bool{}
	for _, m := range record.Modules {
		installed[m.Key] = m.remote()
	}
	for _, m := range record.Modules {
		if dir := filepath.Clean(m.Dir); !s.downloaded(dir, installed) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs, nil
}

// A module is an entry of the tool's record.
type module struct{ Key, Source, Dir string }

// remote tells the modules that the tool copies into its own directory. The
// root module has no source.
func (m module) remote() bool {
	return m.Source != "" && !strings.HasPrefix(m.Source, "./") && !strings.HasPrefix(m.Source, "../") && !filepath.IsAbs(m.Source)
}

// downloaded tells a module in the tool's own directory, where each lies under
// its key, from a local one. Links are followed first: a module with an
// absolute path is a link there to files that anybody may edit. The key is
// needed where TF_DATA_DIR is the stack itself, whose own modules may lie in the
// same place. When in doubt it is local, and bound.
func (s *Stack) downloaded(dir string, installed map[string]bool) bool {
	home, err := filepath.EvalSymlinks(filepath.Join(s.Session.DataDir(), "modules"))
	if err != nil {
		return false
	}
	path, err := filepath.EvalSymlinks(s.resolve(dir))
	if err != nil {
		return false
	}
	below, err := filepath.Rel(home, path)
	if err != nil || !filepath.IsLocal(below) {
		return false
	}
	key, _, _ := strings.Cut(filepath.ToSlash(below), "/")
	return installed[key]
}

// variables is the digest of everything a variable's value comes from but the
// command line, which the plan file holds. It is salted: a variable may be a
// short secret, and equal digests in two warrants would say that it is unchanged.
func (s *Stack) variables(b api.Binding) (string, error) {
	auto, err := s.list(".", isVariables)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "assize.variables/v1\n%q\n", b.Salt)
	for _, group := range [][]string{auto, b.VarFiles} {
		fmt.Fprintf(h, "%d\n", len(group))
		for _, name := range group {
			if err := s.add(h, name); err != nil {
				return "", err
			}
		}
	}
	vars := s.asPlanned(b).Variables()
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		fmt.Fprintf(h, "%q=%q\n", name, vars[name])
	}
	return sum(h), nil
}

// isVariables tells the files that both tools read without being told to.
func isVariables(name string) bool {
	return name == "terraform.tfvars" || name == "terraform.tfvars.json" ||
		strings.HasSuffix(name, ".auto.tfvars") || strings.HasSuffix(name, ".auto.tfvars.json")
}

// lockFile is the digest of the lock file, "" where there is none.
func (s *Stack) lockFile() (string, error) {
	path := s.resolve(lockFileName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return fileDigest(path)
}

// list names the files in a directory of the stack that match, sorted.
// Directories are none, whatever they are called.
func (s *Stack) list(dir string, match func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(s.resolve(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(dir, err)
	}
	var names []string
	for _, e := range entries {
		if match(e.Name()) && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// add writes a file into a digest, its length before its content, so that no
// two lists of files write the same bytes. A symbolic link counts as what it
// leads to; one that leads nowhere, and a file that is not there, is told apart
// from an empty file.
func (s *Stack) add(h io.Writer, name string) error {
	f, err := openRegular(s.resolve(name))
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(h, "%q absent\n", filepath.ToSlash(name))
		return nil
	}
	if err != nil {
		return unreadable(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return unreadable(name, err)
	}
	fmt.Fprintf(h, "%q %d\n", filepath.ToSlash(name), len(data))
	h.Write(data)
	return nil
}

// named is how a person names a file: relative to the stack's own directory.
func (s *Stack) named(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Dir(), name)
}

// resolve is how the tool would find a name: relative to where it works.
func (s *Stack) resolve(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Session.Dir, name)
}

// fileDigest is what sha256sum prints for the file.
func fileDigest(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", unreadable(path, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", unreadable(path, err)
	}
	return sum(h), nil
}

// refusePipes refuses what would make the tool wait, possibly forever: it reads
// these files in init already, before anything is observed. Of local modules it
// knows those of the last init.
func (s *Stack) refusePipes(varFiles []string) error {
	files := slices.Concat([]string{lockFileName, "terraform.tfstate"}, varFiles)
	dirs, err := s.localModules()
	if err != nil {
		dirs = []string{"."} // a record that init will write anew
	}
	for _, dir := range dirs {
		names, err := s.list(dir, func(name string) bool { return isConfiguration(name) || isVariables(name) })
		if err != nil {
			return err
		}
		for _, name := range names {
			files = append(files, filepath.Join(dir, name))
		}
	}
	for _, name := range files {
		if info, err := os.Stat(s.resolve(name)); err == nil && !info.Mode().IsRegular() {
			return unreadable(name, errIrregular)
		}
	}
	return nil
}

var errIrregular = errors.New("it is no regular file")

// openRegular refuses a pipe or a device without opening it: what comes out of
// one differs from one reader to the next, and reading may never end. Should it
// become one in between, opening does not wait for a writer.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func sum(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

func unreadable(name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err // its path is not the one the user knows
	}
	return problem.New(api.Unavailable, "%s cannot be read: %w", name, err)
}
