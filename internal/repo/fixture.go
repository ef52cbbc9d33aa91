package repo

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// wantExt is how a file ends that says what a policy finds in a plan.
const wantExt = ".want"

// A Fixture is a plan to test a policy with, and what the policy should say of
// it (docs/testing.md, rules 1 and 2).
type Fixture struct {
	Name    string // NAME.json and NAME.want
	Plan    []byte
	Want    []byte
	HasWant bool
}

// FixtureDir is where the fixtures of a policy lie: beside it, under its name
// without the extension and with _test. A relative path is resolved in dir, and
// so is the result.
func FixtureDir(dir, path string) string {
	clean := filepath.Clean(path)
	if base := filepath.Base(clean); base == "." || base == ".." {
		if abs, err := filepath.Abs(resolve(dir, clean)); err == nil {
			clean = abs
		}
	}
	return withoutExtension(clean) + "_test"
}

// withoutExtension takes off what says the language of a policy, or that it is a
// bundle.
func withoutExtension(path string) string {
	lower := strings.ToLower(path)
	for _, ext := range append(slices.Sorted(maps.Keys(languages)), bundleExtensions()...) {
		if strings.HasSuffix(lower, ext) {
			return path[:len(path)-len(ext)]
		}
	}
	return path
}

// ReadFixtures reads the fixtures in a directory, by name. One that is not there
// holds none, unless it must be there. A file that belongs to no fixture is an
// error: a plan that is misnamed would test nothing.
func ReadFixtures(dir, path string, must bool) ([]Fixture, error) {
	root := resolve(dir, path)
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	var out []Fixture
	wants := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		switch stem := strings.TrimSuffix(name, filepath.Ext(name)); {
		case strings.HasSuffix(name, wantExt) && stem != "":
			wants[stem] = true
		case strings.HasSuffix(name, ".json") && stem != "":
			f, err := readFixture(root, path, stem)
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		default:
			return nil, problem.New(api.Invalid, "%s is no part of a fixture", filepath.Join(path, name)).
				WithHint("a directory of fixtures holds plans, NAME.json, and what is wanted of each, NAME.want")
		}
	}
	for _, f := range out {
		delete(wants, f.Name)
	}
	for stem := range wants {
		return nil, problem.New(api.Invalid, "%s is there and %s is not", filepath.Join(path, stem+wantExt), stem+".json").
			WithHint("tofu show -json plan.out > %s", filepath.Join(path, stem+".json"))
	}
	return out, nil
}

func readFixture(root, path, stem string) (f Fixture, err error) {
	f.Name = stem
	if f.Plan, err = readRegular(filepath.Join(root, stem+".json")); err != nil {
		return f, unreadable(filepath.Join(path, stem+".json"), err)
	}
	f.Want, err = readRegular(filepath.Join(root, stem+wantExt))
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, unreadable(filepath.Join(path, stem+wantExt), err)
	}
	f.HasWant = true
	return f, nil
}

// WriteWant writes what a policy finds in a fixture's plan, and returns the path
// of the file; a link is replaced.
func WriteWant(dir, path, name, text string) (string, error) {
	file := filepath.Join(path, name+wantExt)
	if err := WriteFile(resolve(dir, file), []byte(text)); err != nil {
		return "", problem.New(api.Internal, "%s cannot be written: %w", file, errors.Unwrap(err))
	}
	return file, nil
}

// ReadTests reads the tests in Rego that stand beside a policy of one file, as
// `opa test` would be given them; those of a directory are part of it already.
func ReadTests(dir string, src policy.Source) ([]policy.File, error) {
	ext := filepath.Ext(src.Path)
	if src.Language != api.Rego || len(src.Files) != 1 || !strings.EqualFold(ext, ".rego") {
		return nil, nil
	}
	path := strings.TrimSuffix(src.Path, ext) + "_test" + ext
	data, err := readAtMost(resolve(dir, path), maxPolicyBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	return []policy.File{{Name: filepath.Base(path), Data: data}}, nil
}
