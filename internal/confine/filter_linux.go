package confine

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are the system calls that the Go runtime needs to compute, and to talk
// over files that are open already. Nothing here opens a file, makes a socket
// or starts a process; what is not here fails with EPERM. Two more are allowed
// with conditions, see filter, and looking for a file fails in another way.
var calls = [...]uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FCNTL, unix.SYS_FSTAT,
	// memory
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_MREMAP, unix.SYS_BRK,
	// threads, waiting and time
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETPID, unix.SYS_GETTID,
	unix.SYS_RSEQ, unix.SYS_SET_ROBUST_LIST, unix.SYS_RESTART_SYSCALL,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
	unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE, unix.SYS_SETITIMER,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2,
	// signals to oneself, randomness for maps, the end
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_GETRANDOM, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// Offsets in the kernel's struct seccomp_data.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArg0 = 16 // its lower half, on the little-endian machines below
)

// filterCalls installs the filter for every thread of the process. On machines
// whose system calls are not listed, the limits have to do.
func filterCalls() error {
	m, listed := map[string]machine{"amd64": {unix.AUDIT_ARCH_X86_64, 262}, "arm64": {unix.AUDIT_ARCH_AARCH64, 79}}[runtime.GOARCH]
	if !listed {
		return nil
	}
	// Both calls are about the calling thread; the second takes the others along.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_NO_NEW_PRIVS: %w", err)
	}
	code := filter(m, uint32(os.Getpid()))
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	failed, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if failed != 0 {
		return fmt.Errorf("seccomp: thread %d does not take the filter", failed)
	}
	return nil
}

// A machine is what the kernel calls an architecture, and newfstatat on it.
type machine struct{ arch, stat uint32 }

// filter is the program, in the kernel's classic BPF. Each condition jumps over
// the return that follows it.
func filter(m machine, pid uint32) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	// unless continues with skip more instructions when A is not k.
	unless := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: k}
	}
	give := func(result uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: result}
	}
	refuse := func(errno unix.Errno) unix.SockFilter { return give(unix.SECCOMP_RET_ERRNO | uint32(errno)) }

	code := []unix.SockFilter{
		// The same number is another call under another architecture.
		load(offsetArch), unless(m.arch, 1), {Code: unix.BPF_JMP | unix.BPF_JA, K: 1}, give(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetCall),
	}
	for _, call := range calls {
		code = append(code, unless(call, 1), give(unix.SECCOMP_RET_ALLOW))
	}
	// There is no file, whatever it is called: what a library looks for, and could do
	// without, is not there.
	for _, call := range []uint32{unix.SYS_OPENAT, m.stat} {
		code = append(code, unless(call, 1), refuse(unix.ENOENT))
	}
	return append(code,
		// A thread, but no process.
		unless(unix.SYS_CLONE, 4), load(offsetArg0),
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: unix.CLONE_THREAD},
		give(unix.SECCOMP_RET_ALLOW), refuse(unix.EPERM),
		// Its flags are in memory that a filter cannot read; C libraries then
		// use clone.
		unless(unix.SYS_CLONE3, 1), refuse(unix.ENOSYS),
		// A signal to a thread of this process only.
		unless(unix.SYS_TGKILL, 3), load(offsetArg0), unless(pid, 1), give(unix.SECCOMP_RET_ALLOW),
		refuse(unix.EPERM),
	)
}
