package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// This file is how a command writes the file that -o names.

// replaceable refuses to write over the command's own input, and over any file
// but an older output of the same command: a slip of the hand must cost nothing
// that cannot be made again (docs/bundle.md, rule 15). An empty file is none.
func replaceable(path, input, kind string, ours func([]byte) bool) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unwritten(path, err)
	}
	if from, err := os.Stat(input); err == nil && os.SameFile(info, from) {
		return problem.New(api.Invalid, "-o %s: that is the policy itself", path).WithHint("name another file with -o")
	}
	if info.IsDir() {
		return problem.New(api.Invalid, "-o %s: that is a directory", path).WithHint("name a file in it")
	}
	if !info.Mode().IsRegular() {
		return nil // a pipe or a device, which keeps nothing
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return unwritten(path, err)
	}
	if len(data) > 0 && !ours(data) {
		return problem.New(api.Invalid, "%s is there already, and is no %s; it stays as it is", path, kind).
			WithHint("name another file with -o, or remove that one")
	}
	return nil
}

func unwritten(path string, err error) error {
	return problem.New(api.Invalid, "%s cannot be written: %w", path, err)
}
