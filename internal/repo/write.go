package repo

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteFile puts data at path, all of it or nothing, for others to read as
// well: half a policy would be one that passes more. A link is replaced and not
// followed, so that a checkout cannot choose what is overwritten. What is there
// and no regular file, such as a pipe, is written to.
func WriteFile(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o644)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".assize-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	return err
}

// AppendFile adds data to the end of what is at path, as the files want it that
// GitHub Actions hands to a step: others may have written to them before.
func AppendFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
