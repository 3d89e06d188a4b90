package cmd

import (
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/kcm-cli/kcm/internal/source"
)

const (
	// softMemory is up to where the garbage collector may take its time. What a run
	// holds of ordinary batches stays well below.
	softMemory = 96 << 20
	// orderedGCPercent is GOGC for a run that puts records in order: it holds much
	// that lives for a moment only and has no pointers, so collecting it is cheap.
	orderedGCPercent = 30
	heapLive         = "/gc/heap/live:bytes"
)

// sparing has the garbage collector spare memory, unless the user has decided.
func (o *consumeOptions) sparing() (done func()) {
	if o.env.Getenv("GOGC") != "" || o.env.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	percent := 100
	if o.order.by == source.OrderTimestamp || o.order.tail > 0 {
		percent = orderedGCPercent
	}
	percent, limit := debug.SetGCPercent(percent), debug.SetMemoryLimit(softMemory)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		followHeap(stop)
	}()
	return func() {
		close(stop)
		<-stopped
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// followHeap raises the limit when more than usual has to be held, such as batches
// of many megabytes: a limit that cannot be kept would only cost time.
func followHeap(stop <-chan struct{}) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	sample := []metrics.Sample{{Name: heapLive}}
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		debug.SetMemoryLimit(memoryFor(int64(sample[0].Value.Uint64())))
	}
}

// memoryFor is the soft limit for a heap of which so much is alive.
func memoryFor(live int64) int64 { return max(softMemory, live+live/4+softMemory/8) }
