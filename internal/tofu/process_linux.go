package tofu

import (
	"io/fs"
	"syscall"
)

// attributes puts the tool into a process group of its own. What only reads is
// interrupted when this process dies; an apply is not.
func attributes(survives bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if !survives {
		attr.Pdeathsig = syscall.SIGINT
	}
	return attr
}

// versionOf tells a file from what it was before.
func versionOf(info fs.FileInfo) (version, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return version{}, false
	}
	return version{uint64(s.Dev), s.Ino, s.Size, s.Ctim}, true
}
