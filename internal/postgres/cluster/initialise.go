package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// superuser is the one role of a new cluster.
const superuser = "postgres"

// initdbOptions are those of every new cluster. Who comes to the socket is
// trusted, for nobody else can enter its directory. Text is compared byte by
// byte, so that an index does not depend on the machine's C library.
var initdbOptions = []string{"-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"}

// initialise makes the files of a cluster in data, unless they are there.
func initialise(ctx context.Context, programs Programs, as user, data string) error {
	have, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return initdb(ctx, programs, as, data)
	case err != nil:
		return err
	}
	if major := strings.TrimSpace(string(have)); major != strconv.Itoa(programs.major) {
		return problem.New(api.Conflict, "the database in %s was made by PostgreSQL %s, and %s was found", data, major, programs.version).
			WithHint("set ASSIZE_POSTGRES_BIN to the programs of PostgreSQL %s, or move the data with its pg_dumpall", major)
	}
	return nil
}

// initdb makes the files beside data and moves them there whole: a data directory
// that is half made looks like one that is broken.
func initdb(ctx context.Context, programs Programs, as user, data string, options ...string) error {
	half := data + ".new"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	cmd := as.command(ctx, programs.path("initdb"), append(append([]string{"-D", half}, initdbOptions...), options...)...)
	if err := output(cmd); err != nil {
		return errors.Join(err, os.RemoveAll(half))
	}
	return os.Rename(half, data)
}

// copyTemplate makes the files of a scratch cluster as a copy of those that were
// made once for these programs: initdb takes seconds, a copy does not.
func copyTemplate(ctx context.Context, programs Programs, as user, data string) error {
	// Small segments of the log make a small template.
	options := []string{"-N", "--wal-segsize=1"}
	cache, err := os.UserCacheDir()
	if err != nil {
		return initdb(ctx, programs, as, data, options...)
	}
	key := sha256.Sum256([]byte(strings.Join(append(append([]string{programs.dir, programs.version}, initdbOptions...), options...), "\n")))
	template := filepath.Join(cache, "assize", "clusters", fmt.Sprintf("%x", key[:12]))
	if _, err := os.Stat(filepath.Join(template, "PG_VERSION")); err != nil {
		if err := makeTemplate(ctx, programs, as, template, options); err != nil {
			return err
		}
	}
	if err := os.CopyFS(data, os.DirFS(template)); err != nil {
		return err
	}
	return errors.Join(os.Chmod(data, 0o700), as.ownTree(data))
}

// makeTemplate runs initdb where the user can work, and moves the result to where
// it is kept. Of two that do this at once the second finds the place taken.
func makeTemplate(ctx context.Context, programs Programs, as user, template string, options []string) error {
	work, err := as.temp("assize-initdb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := initdb(ctx, programs, as, filepath.Join(work, "data"), options...); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(template), 0o700); err != nil {
		return err
	}
	half, err := os.MkdirTemp(filepath.Dir(template), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(half)
	if err := os.CopyFS(half, os.DirFS(filepath.Join(work, "data"))); err != nil {
		return err
	}
	if err := os.Rename(half, template); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
