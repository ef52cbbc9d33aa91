package tofu

import "syscall"

// attributes puts the tool into a process group of its own. What only reads is
// interrupted when this process dies; an apply is not.
func attributes(survives bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if !survives {
		attr.Pdeathsig = syscall.SIGINT
	}
	return attr
}
