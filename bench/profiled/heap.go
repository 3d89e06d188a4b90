package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime/metrics"
	"runtime/pprof"
	"strings"
	"time"
)

// heapWatch keeps the profile of the moment at which the process held most.
type heapWatch struct {
	stop, done chan struct{}
	most       uint64
	profile    bytes.Buffer
	classes    string
}

const (
	heapTotal = "/memory/classes/total:bytes"
	heapGone  = "/memory/classes/heap/released:bytes"
)

// classes are what the memory is held for.
var classes = []string{
	"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/free:bytes",
	"/memory/classes/heap/stacks:bytes", "/gc/heap/live:bytes", "/gc/cycles/total:gc-cycles",
}

func watchHeap() *heapWatch {
	w := &heapWatch{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.look()
			case <-w.stop:
				return
			}
		}
	}()
	return w
}

// look takes a profile when the process holds clearly more than ever before.
func (w *heapWatch) look() {
	samples := []metrics.Sample{{Name: heapTotal}, {Name: heapGone}}
	for _, c := range classes {
		samples = append(samples, metrics.Sample{Name: c})
	}
	metrics.Read(samples)
	held := samples[0].Value.Uint64() - samples[1].Value.Uint64()
	if held < w.most+w.most/20 {
		return
	}
	w.most = held
	var text strings.Builder
	fmt.Fprintf(&text, "held %.1f MB\n", float64(held)/1e6)
	for _, s := range samples[2:] {
		if s.Value.Kind() == metrics.KindUint64 {
			fmt.Fprintf(&text, "  %-40s %12d\n", s.Name, s.Value.Uint64())
		}
	}
	w.classes = text.String()
	w.profile.Reset()
	_ = pprof.Lookup("heap").WriteTo(&w.profile, 0) // a buffer takes everything
}

// save writes the profile to path and what the memory was held for to path.txt.
func (w *heapWatch) save(path string) error {
	close(w.stop)
	<-w.done
	if err := os.WriteFile(path+".txt", []byte(w.classes), 0o600); err != nil {
		return err
	}
	return os.WriteFile(path, w.profile.Bytes(), 0o600)
}
