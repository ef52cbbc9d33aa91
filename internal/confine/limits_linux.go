package confine

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// executable is the running program, even when its file was replaced since.
func executable() (string, error) { return "/proc/self/exe", nil }

// detach puts the child into a session of its own, where the terminal's
// signals do not reach it, and has the kernel kill it when its parent dies.
func detach(cmd *exec.Cmd) {
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// apply confines the calling process for good.
//
// Memory is bounded by RLIMIT_DATA, which counts private writable memory. Go
// reserves far more address space than it uses, so RLIMIT_AS would have to be
// a guess. The kernel's bound lies above the one that the process watches
// itself: where the kernel says no, the runtime falls over its own feet. It
// also counts what C libraries keep for stacks, eight megabytes a thread.
func (l Limits) apply() error {
	exitAt(unix.SIGXCPU, exitCPU)
	data := l.Memory + l.Memory/4 + 128<<20
	for _, r := range []struct {
		name     string
		resource int
		limit    unix.Rlimit
	}{
		{"RLIMIT_CORE", unix.RLIMIT_CORE, unix.Rlimit{}}, // a core would hold the plan
		{"RLIMIT_FSIZE", unix.RLIMIT_FSIZE, unix.Rlimit{}},
		{"RLIMIT_NOFILE", unix.RLIMIT_NOFILE, unix.Rlimit{Cur: 16, Max: 16}},
		// At the first the kernel sends SIGXCPU, at the second it kills.
		{"RLIMIT_CPU", unix.RLIMIT_CPU, unix.Rlimit{Cur: l.cpuSeconds(), Max: l.cpuSeconds() + 1}},
		{"RLIMIT_DATA", unix.RLIMIT_DATA, unix.Rlimit{Cur: data, Max: data}},
	} {
		if err := unix.Setrlimit(r.resource, &r.limit); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	// Not even another process of the same user looks into this one.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_DUMPABLE: %w", err)
	}
	return filterCalls()
}

// exitAt ends the process with a status that says why.
func exitAt(sig os.Signal, status int) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, sig)
	go func() {
		<-c
		os.Exit(status)
	}()
}

// peak is the largest resident size that a dead process had, in bytes.
func peak(state *os.ProcessState) uint64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return uint64(usage.Maxrss) << 10
}
