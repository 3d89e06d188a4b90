package fetch

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/cluster"
)

// clients are the clients of one Fetcher, made when first needed.
type clients struct {
	make func(cluster.Role) (*kgo.Client, error)

	mu      sync.Mutex
	made    [cluster.Group]*kgo.Client
	users   [cluster.Group]int
	last    [cluster.Group]time.Time // when the last user left
	closing sync.WaitGroup
}

// use returns the client for a role; done must be called after its last request.
func (c *clients) use(role cluster.Role) (cl *kgo.Client, done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made[role] == nil {
		if cl, err = c.make(role); err != nil {
			return nil, nil, err
		}
		c.made[role] = cl
	}
	c.users[role]++
	return c.made[role], func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.users[role]--
		c.last[role] = time.Now()
	}, nil
}

// closeIdle closes the client of a role in the background if it has been unused
// for that long, and says when to ask again; zero when there is nothing to close.
func (c *clients) closeIdle(role cluster.Role, unused time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made[role] == nil || c.users[role] > 0 {
		return time.Time{}
	}
	if due := c.last[role].Add(unused); time.Now().Before(due) {
		return due
	}
	c.closing.Go(c.made[role].Close)
	c.made[role] = nil
	return time.Time{}
}

// close closes all and waits for that.
func (c *clients) close() {
	c.mu.Lock()
	for role, cl := range c.made {
		if cl != nil {
			c.closing.Go(cl.Close)
			c.made[role] = nil
		}
	}
	c.mu.Unlock()
	c.closing.Wait()
}
