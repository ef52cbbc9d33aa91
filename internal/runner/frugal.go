package runner

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// frugalMax is the memory, in bytes, in which a specification of a thousand resources
// can be evaluated with a sixth more of processor time than without a limit, which
// takes half as much again.
const frugalMax = 230 << 20

// frugal keeps garbage from piling up until stop is called. Where what is in use
// itself comes near the limit there is none any more: to collect again and again
// would take longer than the work. A limit of whoever started us stays.
func frugal() (stop func()) {
	was := debug.SetMemoryLimit(frugalMax)
	if was != math.MaxInt64 {
		debug.SetMemoryLimit(was)
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		used := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if metrics.Read(used); used[0].Value.Uint64() > frugalMax/10*9 {
				debug.SetMemoryLimit(was)
				return
			}
		}
	}()
	return func() {
		close(done)
		debug.SetMemoryLimit(was)
	}
}
