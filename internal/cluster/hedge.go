package cluster

import (
	"context"
	"time"
)

// hedgeAfter is how long a request that any broker can answer waits before it
// is sent to another one as well.
const hedgeAfter = 800 * time.Millisecond

// hedge asks, and asks again beside it each time hedgeAfter passes without an
// answer: the client sends each attempt to its next broker, so that one broker
// which is off the network does not hold up what all others know. A connection
// that was closed is tried again at once, for the same reason. The first answer
// counts; when all attempts have failed, the last error does.
func hedge[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, 8)
	running, started := 0, 0
	start := func() {
		running++
		started++
		go func() {
			v, err := ask(ctx)
			answers <- answer{v, err}
		}()
	}
	start()
	tick := time.NewTicker(hedgeAfter)
	defer tick.Stop()
	for {
		select {
		case a := <-answers:
			running--
			if a.err == nil {
				return a.v, nil
			}
			if closed := isClosed(a.err) || isFirstRead(a.err); closed && started < cap(answers) {
				start()
			} else if running == 0 {
				return a.v, a.err
			}
		case <-tick.C:
			if started < cap(answers) {
				start()
			}
		}
	}
}
