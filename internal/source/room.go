package source

import "sync"

// aheadBytes is how much may lie ready that the writer does not wait for yet.
// What is compressed well grows many times over when it is formatted: neither a
// number of chunks nor their fetched bytes would bound it.
const aheadBytes = 4 << 20

// room bounds how far the workers get ahead of the writer. The job that the
// writer waits for always may be prepared, so there is no deadlock.
type room struct {
	mu      sync.Mutex
	free    sync.Cond
	bytes   int   // prepared and not written
	awaited int64 // number of the last job that the writer has asked for
	stopped bool
}

// enter waits until a job may be prepared; it returns false after stop.
func (r *room) enter(number int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.bytes >= aheadBytes && number > r.awaited && !r.stopped {
		r.free.Wait()
	}
	return !r.stopped
}

// fill notes that bytes were prepared or, when negative, written.
func (r *room) fill(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += bytes
	if bytes < 0 {
		r.free.Broadcast()
	}
}

// await notes that the writer waits for a job.
func (r *room) await(number int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited = number
	r.free.Broadcast()
}

// stop lets everybody go.
func (r *room) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.free.Broadcast()
}
