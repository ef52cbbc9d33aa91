// Package credentials keeps the tokens that somebody has logged in with, in a file
// that nobody else reads, and hands them to OpenTofu and Terraform the way that
// their own login does. It must not know what a token is good for.
package credentials

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Saved is what the file holds.
type Saved struct {
	Default string            `json:"default,omitempty"` // address of the server that was logged in to last
	Tokens  map[string]string `json:"tokens"`            // by address
}

// Path is where the file is, in the configuration directory of the user.
func Path() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", problem.New(api.Invalid, "there is no place to keep tokens in: %w", err).WithHint("set HOME")
	}
	return filepath.Join(dir, "assize", "credentials.json"), nil
}

// Read is what the file at path holds; nothing, if there is none.
func Read(path string) (Saved, error) {
	saved := Saved{Tokens: map[string]string{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &saved)
	}
	if err != nil {
		return Saved{}, unreadable(path, err)
	}
	if saved.Tokens == nil {
		saved.Tokens = map[string]string{}
	}
	return saved, nil
}

// unreadable does not repeat what a parser says: it quotes, and there are tokens.
func unreadable(path string, err error) error {
	var at *fs.PathError
	p := problem.New(api.Invalid, "%s cannot be read", path).WithHint("mend or remove it, and log in again: assize login")
	if errors.As(err, &at) {
		p.Message += ": " + at.Err.Error()
	}
	return p
}

// Write keeps what is saved in the file at path.
func Write(path string, saved Saved) error {
	return write(path, saved)
}

// write puts JSON at path, all of it or nothing, for nobody else to read.
func write(path string, doc any) error {
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return unwritten(path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".credentials-*") // 0600
	if err != nil {
		return unwritten(path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(data, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return unwritten(path, err)
	}
	return nil
}

func unwritten(path string, err error) error {
	return problem.New(api.Invalid, "%s cannot be written: %w", path, err)
}
