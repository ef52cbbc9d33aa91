package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// StoredPlans lists the plans that arguments name: files, every .json file below
// a directory, and what matches a pattern, in which ** crosses directories. Each
// is listed once, in sorted order; an argument that names none is an error.
func StoredPlans(dir string, args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		found, err := storedPlans(dir, arg)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, problem.New(api.NotFound, "%s names no plan", arg).
				WithHint("name files that `tofu show -json plan.out` printed, a directory of them, or a pattern in quotes such as 'plans/**/*.json'")
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func storedPlans(dir, arg string) ([]string, error) {
	if arg == "" {
		return nil, problem.New(api.Invalid, "a path of plans is empty").WithHint("is a variable of the command line empty?")
	}
	info, err := os.Stat(resolve(dir, arg))
	if err == nil && !info.IsDir() {
		return []string{arg}, nil
	}
	if err == nil {
		names, err := regularFiles(resolve(dir, arg))
		if err != nil {
			return nil, unreadable(arg, err)
		}
		var out []string
		for _, name := range names {
			if strings.EqualFold(filepath.Ext(name), ".json") {
				out = append(out, filepath.Join(arg, filepath.FromSlash(name)))
			}
		}
		return out, nil
	}
	if !strings.ContainsAny(arg, "*?[{") {
		return nil, unreadable(arg, err)
	}
	matches, err := doublestar.FilepathGlob(resolve(dir, arg), doublestar.WithFilesOnly(), doublestar.WithFailOnIOErrors())
	if err != nil {
		return nil, problem.New(api.Invalid, "%s: %w", arg, err)
	}
	for i, m := range matches {
		if rel, err := filepath.Rel(dir, m); err == nil && !filepath.IsAbs(arg) {
			matches[i] = rel
		}
	}
	return matches, nil
}

// ReadStored reads one stored plan.
func ReadStored(dir, path string) ([]byte, error) {
	raw, err := readRegular(resolve(dir, path))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return raw, nil
}
