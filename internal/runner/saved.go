package runner

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// warrantMax bounds what is read as a warrant.
const warrantMax = 64 << 20

// DefaultFile is where a plan is saved when nothing else is said, in a stack
// without an instance.
const DefaultFile = dirName + "/" + planName

const planName = "plan.tfplan"

// DefaultFile is where a plan of this stack is saved when nothing else is said,
// relative to its directory.
func (s *Stack) DefaultFile() string {
	if name := s.settings.Instance; name != "" {
		return path.Join(dirName, instancesName, name, planName)
	}
	return DefaultFile
}

// Files are the two files of a saved plan; file is relative to the stack, "" for the
// default.
func (s *Stack) Files(file string) (plan, warrant string) {
	if plan = filepath.Join(s.home(), planName); file == "" || s.named(file) == plan {
		return plan, filepath.Join(filepath.Dir(plan), "plan.warrant.json")
	}
	plan = s.named(file)
	return plan, plan + ".warrant.json"
}

// OverrideFile is where the override of a saved plan is looked for, beside its
// warrant; file is as in [Stack.Files].
func (s *Stack) OverrideFile(file string) string {
	_, warrant := s.Files(file)
	return overrideBeside(warrant)
}

// beside lists what is nothing without the warrant of file.
func (s *Stack) beside(file string) []string {
	plan, warrant := s.Files(file)
	names := []string{overrideBeside(warrant)}
	if plan == filepath.Join(s.home(), planName) {
		names = append(names, s.judgedFile())
	}
	return names
}

func overrideBeside(warrant string) string {
	return strings.TrimSuffix(warrant, ".warrant.json") + ".override.json"
}

// SaveOverride puts a document of overrides in place, for its owner alone.
func (s *Stack) SaveOverride(path string, doc []byte) error {
	return place(bytes.NewReader(doc), s.named(path))
}

// Void removes the plan that was saved in file before, and reports whether
// there was one. A new plan voids the old one whatever becomes of it, so that
// a refused plan leaves nothing that could be applied by accident
// (docs/warrant.md, rule 6). A file that no warrant vouches for is somebody
// else's and is left alone.
func (s *Stack) Void(file string) (bool, error) {
	if err := s.refuseLinks(); err != nil {
		return false, err
	}
	if err := s.savable(file); err != nil {
		return false, err
	}
	plan, warrant := s.Files(file)
	sweepBeside(warrant)
	_, err := os.Lstat(plan)
	hasPlan := err == nil
	_, err = os.Lstat(warrant)
	hasWarrant := err == nil
	if hasPlan && !hasWarrant && filepath.Dir(plan) != s.home() {
		return false, problem.New(api.Conflict, "%s exists and is no plan that assize has saved", plan).
			WithHint("name another file with --out, or remove it")
	}
	for _, path := range append([]string{warrant, plan}, s.beside(file)...) { // the warrant first: without it the plan is nothing
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, unwritable(path, err)
		}
	}
	return hasPlan && hasWarrant, nil
}

// Save puts a plan and its warrant in place, the warrant last, for it is what
// makes the plan one that can be applied.
func (s *Stack) Save(p *Planned, file string, warrant []byte) error {
	if p.Conditional {
		return problem.New(api.Internal, "a conditional plan is never saved")
	}
	planPath, warrantPath := s.Files(file)
	f, err := os.Open(p.file)
	if err != nil {
		return unreadable(p.file, err)
	}
	defer f.Close()
	if err := place(f, planPath); err != nil {
		return err
	}
	if err := place(bytes.NewReader(warrant), warrantPath); err != nil {
		_ = os.Remove(planPath) // it holds secrets, and without its warrant it is nothing
		return err
	}
	return nil
}

// place writes a file for its owner alone, completely or not at all. It does
// not follow a link at path.
func place(r io.Reader, path string) error { return placeAs(0o600, r, path) }

// placeAs is place for a file that others may read.
func placeAs(mode fs.FileMode, r io.Reader, path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), placedPrefix) // 0600
	if err != nil {
		return unwritable(path, err)
	}
	defer tmp.Close() // and with it the lock, not before the file is in place
	// So that nobody sweeps it up; without locks nobody sweeps.
	_ = syscall.Flock(int(tmp.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	_, err = io.Copy(tmp, r)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return unwritable(path, err)
	}
	return nil
}

// A Saved is a saved plan that was taken up to be applied: a private copy, so
// that what is judged, shown and applied are the same bytes whatever happens
// to the file meanwhile.
type Saved struct {
	Digest  string // of the copy
	Warrant []byte // as it was read

	plan, warrant string // where they are
	beside        []string
	frozen        []string // the variables whose values it holds, known once it was read
	copy          string
	binding       api.Binding // of the plan; [Stack.Read] fills it in
	private       *private
}

// Close removes the private copy.
func (v *Saved) Close() { v.private.close() }

// File is the private copy, for a hook.
func (v *Saved) File() string { return v.copy }

// Take takes up the plan saved in file.
func (s *Stack) Take(file string) (*Saved, error) {
	v := &Saved{beside: s.beside(file)}
	v.plan, v.warrant = s.Files(file)
	info, err := os.Stat(v.plan)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, problem.New(api.NotFound, "there is no saved plan: %s does not exist", v.plan).WithHint("assize plan")
	case err != nil:
		return nil, unreadable(v.plan, err)
	case !info.Mode().IsRegular():
		return nil, problem.New(api.Invalid, "%s is no plan file", v.plan).WithHint("assize plan")
	}
	if v.Warrant, err = readWarrant(v.warrant); err != nil {
		return nil, err
	}
	if v.private, err = s.newPrivate(); err != nil {
		return nil, err
	}
	v.copy = filepath.Join(v.private.path, "plan.tfplan")
	if v.Digest, err = copyFile(v.plan, v.copy); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// readWarrant reads without understanding: what the bytes say is for the gate.
func readWarrant(path string) ([]byte, error) {
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem.New(api.Stale, "the saved plan has no warrant: %s does not exist", path).
			WithHint("assize plan judges a new plan and writes its warrant")
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, warrantMax+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(data) > warrantMax {
		return nil, problem.New(api.Stale, "%s is too large for a warrant", path).WithHint("assize plan")
	}
	return data, nil
}

// copyFile digests what it writes, so that the digest is that of the copy and
// of nothing that the file became a moment later.
func copyFile(from, to string) (digest string, err error) {
	src, err := os.Open(from)
	if err != nil {
		return "", unreadable(from, err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", unwritable(to, err)
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(dst, h), src)
	if err = errors.Join(err, dst.Close()); err != nil {
		return "", unwritable(to, err)
	}
	return sum(h), nil
}

// Claim consumes the saved plan: of two applies at once only one gets it, and
// a warrant under which an apply has begun cannot be used again, however the
// apply ends (docs/warrant.md, rule 8).
func (v *Saved) Claim() error {
	if f, err := lock(v.warrant); err == nil { // so that nobody sweeps it up half-way
		defer f.Close()
	}
	claimed := v.warrant + "." + rand.Text()
	err := os.Rename(v.warrant, claimed)
	if errors.Is(err, fs.ErrNotExist) {
		return problem.New(api.Conflict, "the saved plan has been applied or removed meanwhile: %s is gone", v.warrant).WithHint("assize plan")
	}
	if err != nil {
		return problem.New(api.Unavailable, "the saved plan cannot be used up, so it cannot be applied; nothing was applied: %w", unwritable(v.warrant, err)).
			WithHint("a saved plan is applied once; make its directory writable")
	}
	data, err := readWarrant(claimed)
	if err != nil { // it has the name in between, which nobody knows
		err = problem.New(problem.Code(err), "%s", strings.ReplaceAll(err.Error(), claimed, v.warrant)).WithHint("assize plan")
	}
	if err == nil && !bytes.Equal(data, v.Warrant) {
		// Somebody has planned again: theirs goes back, unless a newer one is there.
		_ = os.Link(claimed, v.warrant)
		err = problem.New(api.Conflict, "another plan was saved meanwhile").WithHint("assize apply")
	}
	_ = os.Remove(claimed)
	if err != nil {
		return err
	}
	for _, path := range append(v.beside, v.plan) { // without the warrant they are nothing
		_ = os.Remove(path)
	}
	return nil
}
