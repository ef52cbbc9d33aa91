package runner

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/spec"
	"github.com/assize-iac/assize/internal/tofu"
)

// specName is where, in the private directory of a stack, the configuration is that
// a specification comes to. The tool works there (docs/spec.md, rule 20).
const (
	specName   = "spec"
	configName = "main.tf.json"
)

// WorkingDir is where the tool works for a stack in dir.
func WorkingDir(dir string) string {
	if spec.In(dir) {
		return filepath.Join(dir, dirName, specName)
	}
	return dir
}

// Dir is the stack's own directory.
func (s *Stack) Dir() string { return cmp.Or(s.specified, s.Session.Dir) }

// Specified reports whether the stack is a specification.
func (s *Stack) Specified() bool { return s.specified != "" }

// specification is where it is.
func (s *Stack) specification() spec.Root { return spec.Root{Dir: s.specified, Name: s.key()} }

// place lets the tool work beside a specification: its files are none that the tool
// could read. A directory that holds files of both kinds is refused: one of them would
// be passed over in silence.
func (s *Stack) place() error {
	if !spec.In(s.Session.Dir) {
		return nil
	}
	if names, err := s.list(".", isConfiguration); err != nil || len(names) > 0 {
		return cmp.Or(err, error(problem.New(api.Conflict, "%s holds a specification, and %s as well", s.key(), strings.Join(names, ", ")).
			WithHint("a directory is one or the other: move the files, or give the CUE package another name than %s", spec.Package)))
	}
	s.specified = s.Session.Dir
	s.Session.Dir = filepath.Join(s.specified, dirName, specName)
	return nil
}

// specify puts the configuration in place that the specification comes to. The same
// specification makes the same bytes, so a plan that was made of it is stale exactly
// when it says something else.
func (s *Stack) specify(ctx context.Context) error {
	compiled, err := s.compile(ctx)
	if err != nil {
		return err
	}
	s.refresh, s.places = compiled.Refresh, compiled.Places
	return s.write(compiled.Config)
}

// Specification is what the specification comes to; nothing is put in place.
func (s *Stack) Specification(ctx context.Context) (*spec.Specification, error) {
	if !s.Specified() {
		return nil, problem.New(api.Invalid, "%s is no specification: no CUE file of the package %s is in it", s.key(), spec.Package).
			WithHint("a specification begins with: package %s", spec.Package)
	}
	if err := s.find(); err != nil {
		return nil, err
	}
	return s.compile(ctx)
}

func (s *Stack) compile(ctx context.Context) (compiled *spec.Specification, err error) {
	err = evaluate(ctx, s.specification(), func(e *spec.Evaluation) error {
		if _, err := s.equip(ctx, e); err != nil {
			return err
		}
		s.step("evaluating the specification")
		s.texts = e.Texts()
		compiled, err = e.Compile()
		return err
	})
	return compiled, err
}

// evaluate has work done with the evaluation of a specification, which takes as long as
// a specification can make it, but no longer than anybody waits for it.
func evaluate(ctx context.Context, root spec.Root, work func(*spec.Evaluation) error) error {
	e, err := spec.Begin(root, spec.Limits{})
	if err != nil {
		return err
	}
	defer e.Close()
	stop := context.AfterFunc(ctx, e.Interrupt)
	defer stop()
	if err = work(e); err != nil && ctx.Err() != nil && !errors.Is(err, tofu.ErrInterrupted) {
		return &problem.Error{Code: api.Unavailable, Message: "interrupted while the specification was evaluated", Cause: tofu.ErrInterrupted}
	}
	return err
}

// Vendor writes the packages of the providers, whole, to where CUE and its language
// server look for them, and returns their files. One that does not evaluate may still
// be written for.
func (s *Stack) Vendor(ctx context.Context) ([]string, error) {
	var wrong *spec.Error
	if _, err := s.Specification(ctx); err != nil && !errors.As(err, &wrong) {
		return nil, err
	}
	var tools spec.Tools
	err := evaluate(ctx, s.specification(), func(e *spec.Evaluation) error {
		data, err := s.equip(ctx, e)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &tools)
	})
	if err != nil {
		return nil, err
	}
	toolbox, err := tools.Decode(nil)
	if err != nil {
		return nil, err
	}
	files, err := spec.Packages(s.specification(), toolbox)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if err := vendor(name, files[name]); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// vendor writes a file below cue.mod. A checkout could carry a link there, to have
// files of others overwritten: nothing is written through one.
func vendor(name string, data []byte) error {
	module, rel, _ := strings.Cut(name, string(filepath.Separator)+"cue.mod"+string(filepath.Separator))
	dir := filepath.Join(module, "cue.mod")
	for _, step := range append([]string{""}, strings.Split(filepath.Dir(rel), string(filepath.Separator))...) {
		dir = filepath.Join(dir, step)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return unwritable(dir, err)
		}
		if err := refuseLink(dir); err != nil {
			return err
		}
	}
	return placeAs(0o644, bytes.NewReader(data), name)
}

// write puts the configuration in place.
func (s *Stack) write(config []byte) error {
	if err := s.makeSpec(); err != nil {
		return err
	}
	path := filepath.Join(s.Session.Dir, configName)
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, config) {
		return nil
	}
	return place(bytes.NewReader(config), path)
}

// refuseOthers refuses what else is in a directory where the tool is to work, which may
// have come with a checkout: configuration that no specification comes to, because the
// tool would read it as well, and links, through which it would write (docs/spec.md, rule 20).
func (s *Stack) refuseOthers(dir string) error {
	data := filepath.Join(dir, ".terraform")
	if err := cmp.Or(refuseLink(data), refuseLink(filepath.Join(data, "providers"))); err != nil {
		return err
	}
	names, err := s.list(dir, isConfiguration)
	others := slices.DeleteFunc(names, func(name string) bool { return name == configName })
	if err != nil || len(others) == 0 {
		return err
	}
	return problem.New(api.Conflict, "%s holds configuration that is not of the specification: %s", dir, strings.Join(others, ", ")).
		WithHint("remove it; what is to be planned is written in the specification")
}

func (s *Stack) makeSpec() error {
	if _, err := Private(s.Dir()); err != nil {
		return err
	}
	if err := makePrivate(s.Session.Dir); err != nil {
		return err
	}
	return s.refuseOthers(s.Session.Dir)
}

// lendLock gives the tool, where it works, the lock file of a specification, which lies
// where people keep it: beside their own files.
func (s *Stack) lendLock(dir string) error {
	if !s.Specified() {
		return nil
	}
	return copyOver(filepath.Join(s.specified, lockFileName), filepath.Join(dir, lockFileName))
}

// returnLock takes back what the tool has made of it.
func (s *Stack) returnLock() error {
	if !s.Specified() {
		return nil
	}
	return copyOver(filepath.Join(s.Session.Dir, lockFileName), filepath.Join(s.specified, lockFileName))
}

// copyOver makes a file what another one is: also when that is not there.
func copyOver(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unwritable(to, err)
		}
		return nil
	}
	if err != nil {
		return unreadable(from, err)
	}
	if was, err := os.ReadFile(to); err == nil && bytes.Equal(was, data) {
		return nil
	}
	return placeAs(0o644, bytes.NewReader(data), to)
}

// equip hands an evaluation what a specification can be made of, and returns it: the
// schemas of the providers that it imports, at the versions of the lock file, and the
// functions of the tool, as [spec.Tools]. They are asked for once for each lock file,
// and remembered for this user.
func (s *Stack) equip(ctx context.Context, e *spec.Evaluation) ([]byte, error) {
	required, err := e.Requirements()
	if err != nil {
		return nil, err
	}
	if tools, ok := s.remembered(required); ok && e.Equip(tools) == nil {
		return tools, nil
	}
	s.step("reading the schemas of the providers")
	printed, err := s.ask(ctx, required)
	if err != nil {
		return nil, err
	}
	tools, err := pack(printed)
	if err == nil {
		err = e.Equip(tools)
	}
	if err == nil {
		s.remember(required, tools)
	}
	return tools, err
}

// pack is what the tool printed, as it is handed over and remembered.
func pack(printed spec.Tools) ([]byte, error) {
	tools, err := json.Marshal(printed)
	if err != nil {
		return nil, problem.New(api.Unavailable, "what the tool printed of its providers cannot be read: %w", err)
	}
	return tools, nil
}

// ask lets the tool fetch the providers and print what they say of themselves. It works
// in a directory of its own for that: of several instances, one may be asked for while
// another is planned.
func (s *Stack) ask(ctx context.Context, required spec.Required) (printed spec.Tools, err error) {
	if err := s.makeSpec(); err != nil {
		return printed, err
	}
	unlock, err := s.alone(ctx)
	if err != nil {
		return printed, err
	}
	defer unlock()
	session := s.Session
	session.Dir = s.askedIn()
	if err := cmp.Or(makePrivate(session.Dir), s.refuseOthers(session.Dir)); err != nil {
		return printed, err
	}
	session.Tool.Env = append(slices.Clone(session.Tool.Environ()), "TF_DATA_DIR="+filepath.Join(session.Dir, ".terraform"))
	if err := errors.Join(place(bytes.NewReader(required.Config), filepath.Join(session.Dir, configName)), s.lendLock(session.Dir)); err != nil {
		return printed, err
	}
	note := (&heeded{imports: required.Imports}).over(&session)
	if err := errors.Join(note(session.Init(ctx, "-backend=false")), s.returnGained(session.Dir)); err != nil {
		return printed, err
	}
	if printed.Schemas, err = session.Schemas(ctx); err != nil {
		return printed, err
	}
	printed.Functions, err = session.Functions(ctx)
	return printed, err
}

// askedIn is where the tool works while it is asked for schemas.
func (s *Stack) askedIn() string { return filepath.Join(s.Dir(), dirName, "schemas") }

// asked reports whether providers were fetched, and that was said, before now.
func (s *Stack) asked() bool {
	_, err := os.Stat(s.askedIn())
	return s.Specified() && err == nil
}

// remembered is what was asked for before, of the same tool, lock file and
// requirements. What cannot be read is asked for again.
func (s *Stack) remembered(required spec.Required) ([]byte, bool) {
	path, err := s.memory(required)
	if err != nil {
		return nil, false
	}
	data, err := os.ReadFile(path)
	return data, err == nil
}

// remember keeps what was asked for the next time; that it cannot is no error.
func (s *Stack) remember(required spec.Required, data []byte) {
	path, err := s.memory(required)
	if err == nil && os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = place(bytes.NewReader(data), path)
	}
}

// memory is the file for the schemas of this tool, lock file and requirements. What
// requires providers needs a lock file: without one nobody knows which versions they
// would be of.
func (s *Stack) memory(required spec.Required) (string, error) {
	lock, err := os.ReadFile(filepath.Join(s.specified, lockFileName))
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || required.Locked) {
		return "", err
	}
	tool, err := s.Session.Tool.Digest()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	_ = os.Mkdir(cache, 0o700) // but no home for a user who has none
	if _, err := os.Stat(cache); err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "assize.schemas/v1\n%s\n%q\n%q\n", tool, lock, required.Config)
	return filepath.Join(cache, "assize", "schemas", fmt.Sprintf("%x.json", h.Sum(nil)[:16])), nil
}
