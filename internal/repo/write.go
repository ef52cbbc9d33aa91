package repo

import (
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
