package main

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// A load is what came of many clients that did the same thing again and again.
type load struct {
	rate     float64       // times a second, all clients together
	p50, p99 time.Duration // that one time takes
}

// drive has n clients do one thing, each as soon as it has done it before, for a
// while and at least once. What has begun is finished, and counts.
func drive(n int, while time.Duration, one func(client int) error) (load, error) {
	took, failed := make([][]time.Duration, n), make([]error, n)
	start := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for begun := start; failed[i] == nil && (len(took[i]) == 0 || begun.Sub(start) < while); {
				failed[i] = one(i)
				now := time.Now()
				took[i] = append(took[i], now.Sub(begun))
				begun = now
			}
		})
	}
	all.Wait()
	whole := slices.Concat(took...)
	slices.Sort(whole)
	return load{rate: float64(len(whole)) / time.Since(start).Seconds(), p50: whole[len(whole)/2], p99: whole[(len(whole)*99-1)/100]}, errors.Join(failed...)
}

// milliseconds is a duration for a table.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
