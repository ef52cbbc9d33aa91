package runner

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// returnGained takes back what the tool has added to the lock file of a specification
// while it was asked for schemas in dir. It was told of no state then, and so has dropped
// providers that only something in the state needs.
func (s *Stack) returnGained(dir string) error {
	path := filepath.Join(s.specified, lockFileName)
	was, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(path, err)
	}
	from := filepath.Join(dir, lockFileName)
	now, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) { // no provider but what is built in
		return nil
	}
	if err != nil {
		return unreadable(from, err)
	}
	if gained := gained(was, now); !bytes.Equal(was, gained) {
		return placeAs(0o644, bytes.NewReader(gained), path)
	}
	return nil
}

// lockedProvider is the part of a lock file about one provider, as the tools write it.
var lockedProvider = regexp.MustCompile(`(?ms)^provider "([^"]+)" \{$.*?^\}\n`)

// gained is the lock file was, if now says nothing else of any provider, or now with
// what only was has. The tool puts them in order when it next writes the file.
func gained(was, now []byte) []byte {
	old, rest := map[string]string{}, [][]byte{now}
	for _, m := range lockedProvider.FindAllSubmatch(was, -1) {
		old[string(m[1])] = string(m[0])
	}
	news := false
	kept := map[string]bool{}
	for _, m := range lockedProvider.FindAllSubmatch(now, -1) {
		kept[string(m[1])] = true
		news = news || old[string(m[1])] != string(m[0])
	}
	if !news {
		return was
	}
	for _, m := range lockedProvider.FindAllSubmatch(was, -1) {
		if !kept[string(m[1])] {
			rest = append(rest, m[0])
		}
	}
	return bytes.Join(rest, []byte("\n"))
}
