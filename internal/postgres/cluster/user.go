package cluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A user is as whom Postgres runs: whoever runs us, unless that is root, as whom
// it refuses to run. It needs a name that the machine knows.
type user struct {
	other    bool
	uid, gid int
}

// account is the user postgres, when we are root and there is one, or nobody.
func account() (user, error) {
	if os.Geteuid() != 0 {
		return user{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		known, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(known.Uid)
		gid, errGID := strconv.Atoi(known.Gid)
		if errUID == nil && errGID == nil && uid != 0 {
			return user{other: true, uid: uid, gid: gid}, nil
		}
	}
	return user{}, problem.New(api.Unavailable, "Postgres does not run as root, and this machine has no user postgres or nobody").
		WithHint("run this as another user, or use a database that runs already")
}

// command is one that runs as u and does not know what our environment holds.
func (u user) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if u.other {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.gid)}
	}
	return cmd
}

// own gives a file or directory to u.
func (u user) own(path string) error {
	if !u.other {
		return nil
	}
	return os.Lchown(path, u.uid, u.gid)
}

// mkdir makes a directory of u's that nobody else can look into; what is above it
// u must be able to pass.
func (u user) mkdir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o711); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := u.own(dir); err != nil {
		return err
	}
	if err := u.command(context.Background(), "/bin/sh", "-c", `cd "$1"`, "sh", dir).Run(); err != nil {
		return problem.New(api.Invalid, "the user as whom Postgres runs cannot come to %s", dir).
			WithHint("choose a directory that is not below one that only root can enter")
	}
	return nil
}

// temp is a new directory of u's among the temporary ones.
func (u user) temp(prefix string) (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", err
	}
	return dir, u.mkdir(dir)
}

// create is a file of u's to add to, with what it already holds.
func (u user) create(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := u.own(path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// ownTree gives a directory to u with all that is in it.
func (u user) ownTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return u.own(path)
	})
}
