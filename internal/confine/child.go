package confine

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
	_ "time/tzdata" // a policy may name a time zone, and a child reads no files
)

// Exit statuses of a child. 2 is the Go runtime's own, of a panic.
const (
	exitUsage      = 64
	exitMemory     = 70
	exitCPU        = 71
	exitUnconfined = 72
	exitNoAnswer   = 73
	exitOrphan     = 74
)

// A Work makes what answers the requests of one parent, each of which is a head in
// JSON, which it decodes, and bytes.
type Work func() Answerer

// An Answerer answers one request; more is false if it cannot answer another one.
type Answerer func(head, raw []byte) (answer []byte, more bool)

// Child is the main of a confined process and returns its exit status. It
// confines itself before it reads anything.
func Child(works map[string]Work) int {
	name, limits, err := parseArguments(os.Args[1:])
	if err != nil || works[name] == nil {
		return exitUsage
	}
	out := os.Stdout
	os.Stdout = os.Stderr // what an engine prints is no answer
	debug.SetMemoryLimit(int64(limits.Memory - limits.Memory/8))
	debug.SetMaxStack(maxStack)
	go watchMemory(limits.Memory)
	if err := limits.apply(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUnconfined
	}
	if err := serve(works[name](), os.Stdin, out, func() { os.Exit(exitOrphan) }); err != nil {
		return exitNoAnswer
	}
	return 0
}

// Serve answers requests as a child does, without the limits, until r ends.
func Serve(work Work, r io.Reader, w io.Writer) error {
	return serve(work(), r, w, func() {})
}

// serve calls orphaned when r ends: then the parent is gone, on every system, or
// wants nothing more.
func serve(answer Answerer, r io.Reader, w io.Writer, orphaned func()) error {
	requests, ended, done := make(chan [2][]byte), make(chan error, 1), make(chan struct{})
	defer close(done)
	go func() {
		defer close(requests)
		for {
			head, raw, err := readPair(r)
			if err != nil {
				ended <- err
				orphaned() // at once, also in the middle of what nobody waits for
				return
			}
			select {
			case requests <- [2][]byte{head, raw}:
			case <-done:
				return
			}
		}
	}()
	answered := false
	for request := range requests {
		reply, more := answer(request[0], request[1])
		if reply == nil {
			return fmt.Errorf("no answer")
		}
		if err := writeFrame(w, reply); err != nil || !more {
			return err
		}
		answered = true
	}
	if err := <-ended; !answered {
		return err
	}
	return nil
}

// watchMemory ends the process when it has more memory than it may, with a
// status that says so. The kernel bounds what it is too slow to see.
func watchMemory(limit uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		metrics.Read(sample)
		if used := sample[0].Value.Uint64() - sample[1].Value.Uint64(); used > limit {
			os.Exit(exitMemory)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
