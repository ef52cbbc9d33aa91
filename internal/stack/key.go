package stack

import (
	"path"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Key names a stack: path, or path:instance. The path is slash-separated and
// relative to the root, without ./ and without a slash at its end; the root
// itself is ".". Repo is owner/repo for a stack of another repository, and the
// key is then written owner/repo//path:instance (seed 004, "Identities and
// names").
type Key struct {
	Repo, Path, Instance string
}

func (k Key) String() string {
	text := k.Path
	if k.Instance != "" {
		text += ":" + k.Instance
	}
	if k.Repo != "" {
		text = k.Repo + "//" + text
	}
	return text
}

// ParseKey reads a key as people write it: ./ in front, / at the end and what
// else the shortest spelling of a path does without are dropped.
func ParseKey(text string) (Key, error) {
	var k Key
	rest := text
	if repo, inside, ok := strings.Cut(text, "//"); ok {
		if owner, name, ok := strings.Cut(repo, "/"); !ok || owner == "" || name == "" || strings.Contains(name, "/") {
			return Key{}, problem.New(api.Invalid, "%q names no repository as owner/repo", text)
		}
		k.Repo, rest = repo, inside
	}
	dir, instance, _ := strings.Cut(rest, ":")
	k.Path, k.Instance = path.Clean(dir), instance
	switch {
	case dir == "", strings.HasPrefix(k.Path, "/"), k.Path == "..", strings.HasPrefix(k.Path, "../"):
		return Key{}, problem.New(api.Invalid, "%q is no stack's key", text).
			WithHint("write the path from the root of the repository, and :instance where the stack has instances")
	case strings.HasSuffix(rest, ":"), strings.Contains(k.Instance, ":"):
		return Key{}, problem.New(api.Invalid, "%q has no instance after the colon", text)
	}
	return k, nil
}
