package metadata

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"
)

// news is what an address answers that it did not answer before.
type news struct {
	source string
	answer answer
}

// poll asks one address every Refresh. It has a goroutine of its own: a server
// that is slow delays nothing else.
func (w *Watcher) poll(ctx context.Context, source string, last answer, out chan<- news) {
	every := time.NewTicker(w.opt.Refresh)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		got := ask(ctx, source, w.opt.Options, last)
		if ctx.Err() != nil {
			return
		}
		if !got.sameAs(last) {
			select {
			case <-ctx.Done():
				return
			case out <- news{source, got}:
			}
		}
		last = got
	}
}

// sameAs reports whether two answers lead to the same metadata or say the same
// error.
func (a answer) sameAs(o answer) bool {
	if a.err != nil || o.err != nil {
		return a.err != nil && o.err != nil && a.err.Error() == o.err.Error()
	}
	return bytes.Equal(a.data, o.data)
}

// startPolls starts to ask all addresses; stop ends it and waits.
func (w *Watcher) startPolls(ctx context.Context) (out <-chan news, stop func()) {
	ch := make(chan news)
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for source, last := range w.answers {
		all.Go(func() { w.poll(ctx, source, last, ch) })
	}
	return ch, func() {
		cancel()
		all.Wait()
		if w.transport != nil {
			w.transport.CloseIdleConnections()
		}
	}
}

// ownClient gives the watcher connections of its own, which end with Run.
func (w *Watcher) ownClient() {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if w.opt.HTTP == nil && ok {
		w.transport = standard.Clone()
		w.opt.HTTP = &http.Client{Transport: w.transport}
	}
}
