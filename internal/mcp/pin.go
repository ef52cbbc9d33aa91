package mcp

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A pinned is the policies of a server as they were when it started: copies that
// nobody else can write, under which everything is judged. What becomes of the files
// themselves meanwhile changes nothing (docs/mcp.md, rule 2).
type pinned struct {
	dir   string
	files []policy
}

// A policy is one that the server was started with.
type policy struct {
	name   string // as it was given
	copy   string
	digest string // of its bytes; of a directory, of all names and bytes in it
}

// pin reads every policy. A relative path would mean whatever directory the server
// happens to be started in (seed 003, "The server for agents").
func pin(paths []string) (*pinned, error) {
	if len(paths) == 0 {
		return nil, problem.New(api.Invalid, "no policy was named").
			WithHint("assize mcp --policy /absolute/path/no-delete.cue; what an agent may do without a policy, it may do without this server")
	}
	dir, err := os.MkdirTemp("", "assize-mcp-")
	if err != nil {
		return nil, problem.New(api.Unavailable, "there is no place for copies of the policies: %w", err)
	}
	p := &pinned{dir: dir}
	for i, path := range paths {
		file, err := p.take(path, i)
		if err != nil {
			p.close()
			return nil, err
		}
		p.files = append(p.files, file)
	}
	return p, nil
}

func (p *pinned) close() { _ = os.RemoveAll(p.dir) }

// take copies one policy.
func (p *pinned) take(path string, i int) (policy, error) {
	if !filepath.IsAbs(path) {
		return policy{}, problem.New(api.Invalid, "--policy %q is no absolute path", path).
			WithHint("name it from the root of the file system, so that it means the same wherever the server is started")
	}
	to := filepath.Join(p.dir, strconv.Itoa(i), filepath.Base(path))
	digest, err := read(path, func(rel string, data []byte) error {
		into := filepath.Join(to, rel)
		return errors.Join(os.MkdirAll(filepath.Dir(into), 0o700), os.WriteFile(into, data, 0o600))
	})
	if err != nil {
		return policy{}, problem.New(api.NotFound, "the policy %s cannot be read: %w", path, err)
	}
	return policy{name: path, copy: to, digest: digest}, nil
}

// read visits each file of a policy, and returns the digest of all of them.
func read(path string, visit func(rel string, data []byte) error) (digest string, err error) {
	h := sha256.New()
	err = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(path, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if rel == "." {
			h.Write(data)
		} else {
			fmt.Fprintf(h, "%q %d\n%s\n", filepath.ToSlash(rel), len(data), data)
		}
		return visit(rel, data)
	})
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), err
}

// whole refuses to go on with a copy that is not what was read when the server started.
// What an agent applies runs as the same user, and may write what the server wrote.
func (p *pinned) whole() error {
	for _, file := range p.files {
		digest, err := read(file.copy, func(string, []byte) error { return nil })
		if err != nil || digest != file.digest {
			return problem.New(api.Conflict, "the server's copy of the policy %s was changed", file.name).
				WithHint("nothing is planned or applied any more; whoever started the server has to look into this, and start it anew")
		}
	}
	return nil
}

func (p *pinned) copies() []string {
	var all []string
	for _, file := range p.files {
		all = append(all, file.copy)
	}
	return all
}

// flags are what has a command judge by the copies.
func (p *pinned) flags() []string {
	var all []string
	for _, file := range p.files {
		all = append(all, "--policy", file.copy)
	}
	return all
}

// shown is output with the policies called as they were given.
func (p *pinned) shown(text string) string {
	var pairs []string
	for _, file := range slices.Backward(p.files) {
		pairs = append(pairs, file.copy, file.name)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
