package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcm-cli/kcm/internal/codec/registry"
)

const (
	// atOnce is how many subjects of one registry are asked for at the same time.
	atOnce = 24
	// slowList is after how long people are told that a list takes its time.
	slowList = 5 * time.Second
)

// subjectLister lists the subjects of registries.
type subjectLister struct {
	full bool // with what is deleted
	slow time.Duration
	tell func(format string, args ...any)
}

// list lists the subjects of a registry. Its error is the first trouble, behind
// which nothing more is asked.
func (l *subjectLister) list(ctx context.Context, name string, c *registry.Client) ([]subjectDoc, error) {
	var done, total atomic.Int64
	timer := time.AfterFunc(l.slow, func() {
		if n := total.Load(); n > 0 {
			l.tell("%s answers slowly: %d of %s so far", c, done.Load(), count(n, "subject"))
			return
		}
		l.tell("%s answers slowly: waiting for the list of its subjects", c)
	})
	defer timer.Stop()
	subjects, err := l.subjects(ctx, c)
	if err != nil {
		return nil, err
	}
	total.Store(int64(len(subjects)))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	docs := make([]subjectDoc, len(subjects))
	var first error
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(atOnce, len(subjects)) {
		wg.Go(func() {
			for i := range next {
				docs[i] = subjectDoc{Cluster: name, Subject: subjects[i].Name, Deleted: subjects[i].Deleted}
				err := docs[i].fill(ctx, c, l.full)
				done.Add(1)
				if err == nil {
					continue
				}
				mu.Lock()
				if first == nil {
					first = err
					stop()
				}
				docs[i].Error = errorOf(first)
				mu.Unlock()
			}
		})
	}
	for i := range subjects {
		next <- i
	}
	close(next)
	wg.Wait()
	slices.SortFunc(docs, func(a, b subjectDoc) int { return strings.Compare(a.Subject, b.Subject) })
	return docs, lessen(first, len(subjects) > 0)
}

func (l *subjectLister) subjects(ctx context.Context, c *registry.Client) ([]registry.Subject, error) {
	if l.full {
		return c.Subjects(ctx)
	}
	return c.AliveSubjects(ctx)
}

// fill asks for a subject with as few requests as will do: registries answer one
// in up to a tenth of a second, and have thousands of subjects. Without full, what
// is deleted is left out.
func (d *subjectDoc) fill(ctx context.Context, c *registry.Client, full bool) error {
	latest := 0
	if !d.Deleted {
		e, err := c.Latest(ctx, d.Subject)
		switch {
		case errors.Is(err, registry.ErrNotFound): // deleted since it was listed
			d.Deleted = true
		case err != nil:
			return err
		default:
			latest, d.ID, d.Type = e.Version, &e.ID, optional(string(e.Definition.Type))
		}
	}
	if d.Deleted && !full {
		return nil
	}
	if latest == 1 && !full { // versions begin with 1
		d.Versions = []versionDoc{{Version: 1}}
		return nil
	}
	var versions []registry.Version
	var err error
	if full {
		versions, err = c.VersionsOf(ctx, registry.Subject{Name: d.Subject, Deleted: d.Deleted}, latest)
	} else {
		versions, err = c.AliveVersions(ctx, d.Subject)
	}
	d.Versions = versionDocs(versions)
	return err
}
