package scan

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of what is kept between scans.
const (
	cacheSizeMax  = 256 << 20 // bytes of the cache of one root
	cacheFilesMax = 32        // roots
)

// A Cache keeps what directories say between scans, each under the digest of
// where it is and what its files hold. A scan reads every file, whatever is
// kept: nothing that changed can be missed, and the cache only saves parsing
// (docs/scan.md, rules 34 and 35). A nil one keeps nothing.
type Cache struct {
	name string // of the file
	kept map[string][]byte

	mu    sync.Mutex
	used  map[string][]byte
	fresh bool // used holds what is not kept
}

// OpenCache reads what was kept of the directory root, an absolute path. It is
// nil where nothing can be kept, and empty where what is there is not whole or
// is of another version of this program.
func OpenCache(root string) *Cache {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	if rel, err := filepath.Rel(root, dir); err != nil || rel == "." || filepath.IsLocal(rel) {
		return nil // nothing is written into a checkout
	}
	sum := sha256.Sum256([]byte(root))
	c := &Cache{name: filepath.Join(dir, "assize", fmt.Sprintf("scan-%x", sum[:12])), used: map[string][]byte{}}
	c.kept, _ = readCache(c.name) // no cache is as good as an unreadable one
	return c
}

// readCache reads a file of the cache: a line that says whose it is and what
// digest the rest has, then one for each entry.
func readCache(name string) (map[string][]byte, error) {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || info.Size() > cacheSizeMax {
		return nil, fs.ErrInvalid
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	if string(head) != heading(rest) {
		return nil, fs.ErrInvalid
	}
	kept := make(map[string][]byte, bytes.Count(rest, []byte("\n")))
	for line := range bytes.Lines(rest) {
		key, entry, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		kept[string(key)] = entry
	}
	return kept, nil
}

func heading(rest []byte) string { return fmt.Sprintf("%s %x", version(), sha256.Sum256(rest)) }

// sources are those of this package: another scanner reads no cache of this one.
//
//go:embed *.go
var sources embed.FS

// version is a digest of everything that decides what a directory says: this
// package, the modules that it is built with, and Go.
var version = sync.OnceValue(func() string {
	h := sha256.New()
	names, _ := fs.Glob(sources, "*.go") // the pattern is valid
	for _, name := range names {
		text, _ := sources.ReadFile(name)
		fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(text))
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprintln(h, build.GoVersion)
		for _, m := range build.Deps {
			fmt.Fprintln(h, m.Path, m.Version, m.Sum, m.Replace)
		}
	}
	return "assize scan " + hex.EncodeToString(h.Sum(nil)[:16])
})

// entry is the key of what a directory says, read as tool reads it.
func entry(dir, tool string, files []file) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", dir, tool)
	for _, f := range files {
		fmt.Fprintf(h, "%q ", path.Base(f.name))
		h.Write(f.sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// get returns what is kept under a key.
func (c *Cache) get(key string) (f fact, ok bool) {
	if c == nil || c.kept[key] == nil {
		return fact{}, false
	}
	text := c.kept[key]
	if json.Unmarshal(text, &f) != nil {
		return fact{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[key] = text
	return f, true
}

func (c *Cache) put(key string, f fact) {
	if c == nil {
		return
	}
	text, err := json.Marshal(f)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[key], c.fresh = text, true
}

// Save keeps what the scans since the cache was opened have used, and nothing
// else. It is a convenience: where it fails, the next scan parses again.
func (c *Cache) Save() error {
	if c == nil || !c.fresh {
		return nil
	}
	var rest bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(c.used)) {
		fmt.Fprintf(&rest, "%s %s\n", key, c.used[key])
	}
	dir := filepath.Dir(c.name)
	// No parent is made: where there is no home, there is no cache.
	_ = os.Mkdir(filepath.Dir(dir), 0o700)
	_ = os.Mkdir(dir, 0o700)
	tmp, err := os.CreateTemp(dir, ".scan-") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = io.WriteString(tmp, heading(rest.Bytes())+"\n")
	if err == nil {
		_, err = tmp.Write(rest.Bytes())
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(tmp.Name(), c.name)
	}
	if err == nil {
		sweep(dir)
	}
	return err
}

// sweep removes the caches of the roots that were scanned longest ago.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && (strings.HasPrefix(e.Name(), "scan-") || strings.HasPrefix(e.Name(), ".scan-")) {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range infos[min(len(infos), cacheFilesMax):] {
		if strings.HasPrefix(old.Name(), ".") && time.Since(old.ModTime()) < time.Hour {
			continue // somebody is writing it
		}
		_ = os.Remove(filepath.Join(dir, old.Name()))
	}
}
