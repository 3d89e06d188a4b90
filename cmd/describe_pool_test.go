package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
)

// poolEnv is an environment in which clusters can be made, and a view of some.
func poolEnv(t *testing.T, names ...string) (*Env, *metadata.View) {
	t.Helper()
	env := world{}.make(nil, nil)
	env.Stderr = &lockedBuffer{}
	cmd, _, err := newRootCmd(env).Find([]string{"describe"})
	if err != nil {
		t.Fatal(err)
	}
	env.run.globals.bootstrap = []string{"h:1"}
	if err := cmd.ParseFlags([]string{"-b", "h:1"}); err != nil {
		t.Fatal(err)
	}
	if err := prepare(env, cmd); err != nil {
		t.Fatal(err)
	}
	view := &metadata.View{}
	for _, name := range names {
		view.Clusters = append(view.Clusters, &metadata.Cluster{Name: name, Bootstrap: []string{"h:1"}})
	}
	return env, view
}

// said is what replies say, in few letters.
func said(replies []reply[any]) string {
	var parts []string
	for _, r := range replies {
		if r.err != nil {
			parts = append(parts, r.err.Error())
			continue
		}
		parts = append(parts, fmt.Sprint(r.answer))
	}
	return strings.Join(parts, "; ")
}

// TestPoolNeverWaitsForTheSlow goes through rounds of two seconds with a quick
// cluster and one that takes as long as the case says.
func TestPoolNeverWaitsForTheSlow(t *testing.T) {
	dead := fault.New(fault.Unreachable, "slow: dead")
	for _, c := range []struct {
		name string
		// after and err are what the slow cluster does at its n-th question.
		after func(n int) time.Duration
		err   func(n int) error
		want  []string      // of each round
		spent time.Duration // in all rounds
	}{
		{
			name:  "three seconds each",
			after: func(int) time.Duration { return 3 * time.Second },
			want: []string{
				"1; slow: no answer for 1.5s", "2; slow: no answer for 2s", "3; 1", "4; 1", "5; 2", "6; 2",
			},
			spent: 1500 * time.Millisecond,
		},
		{
			name:  "late and then silent",
			after: func(n int) time.Duration { return map[int]time.Duration{1: 3 * time.Second, 2: time.Hour}[n] },
			want: []string{
				"1; slow: no answer for 1.5s", "2; slow: no answer for 2s", "3; 1", "4; 1", "5; 1", "6; slow: no answer for 6s", "7; slow: no answer for 8s",
			},
			spent: 1500 * time.Millisecond,
		},
		{
			name: "silent once",
			after: func(n int) time.Duration {
				return 100*time.Millisecond + map[int]time.Duration{2: 1800 * time.Millisecond}[n]
			},
			want:  []string{"1; 1", "2; slow: no answer for 1.5s", "3; 2", "4; 4", "5; 5"},
			spent: 1800 * time.Millisecond,
		},
		{
			name:  "dead and back",
			after: func(n int) time.Duration { return time.Second },
			err:   func(n int) error { return map[int]error{2: dead, 3: dead}[n] },
			want:  []string{"1; 1", "2; slow: dead", "3; slow: dead", "4; slow: dead", "5; 5", "6; 6"},
			spent: 4 * time.Second,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			env, view := poolEnv(t, "quick", "slow")
			p := newPool(env, 2*time.Second)
			quick, slow := 0, 0
			ask := func(ctx context.Context, r respondent) (any, error) {
				if r.Name() == "quick" {
					quick++
					return quick, nil
				}
				slow++
				n := slow
				select {
				case <-time.After(c.after(n)):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				if c.err != nil && c.err(n) != nil {
					return nil, c.err(n)
				}
				return n, nil
			}
			var spent time.Duration
			for i, want := range c.want {
				began := time.Now()
				replies, err := p.each(t.Context(), view, []string{"quick", "slow"}, ask)
				if err != nil {
					t.Fatal(err)
				}
				if got := said(replies); got != want {
					t.Errorf("%s: round %d says %q, want %q", c.name, i+1, got, want)
				}
				took := time.Since(began)
				spent += took
				time.Sleep(2*time.Second - took)
			}
			if spent != c.spent {
				t.Errorf("%s: the rounds took %s, want %s", c.name, spent, c.spent)
			}
			p.close()
		})
	}
}

// TestPoolFollowsTheView changes clusters between rounds.
func TestPoolFollowsTheView(t *testing.T) {
	env, view := poolEnv(t, "a", "b")
	p := newPool(env, time.Second)
	defer p.close()
	ask := func(_ context.Context, r respondent) (any, error) { return strings.Join(r.Bootstrap(), ","), nil }
	round := func(v *metadata.View, names ...string) string {
		t.Helper()
		replies, err := p.each(t.Context(), v, names, ask)
		if err != nil {
			t.Fatal(err)
		}
		return said(replies)
	}
	if got := round(view, "a", "b"); got != "h:1; h:1" {
		t.Errorf("at first %s", got)
	}
	a, b := p.desks["a"].cluster, p.desks["b"].cluster
	next := &metadata.View{Clusters: []*metadata.Cluster{
		{Name: "a", Bootstrap: []string{"h:1"}, Origin: metadata.Origin{File: "elsewhere"}},
		{Name: "b", Bootstrap: []string{"h:2"}},
		{Name: "c", Bootstrap: []string{"no address:x"}},
	}}
	if got := round(next, "a", "b", "c"); !strings.HasPrefix(got, "h:1; h:2; c: ") {
		t.Errorf("then %s", got)
	}
	if p.desks["a"].cluster != a || p.desks["b"].cluster == b {
		t.Error("the client of a is another one, or that of b the same")
	}
	if got := round(view, "b"); got != "h:1" || len(p.desks) != 2 {
		t.Errorf("at last %s, with %d desks", got, len(p.desks))
	}
	fresh := newPool(env, time.Second)
	defer fresh.close()
	if _, err := fresh.each(t.Context(), next, []string{"a", "c"}, ask); fault.KindOf(err) != fault.Usage || errors.Is(err, context.Canceled) {
		t.Errorf("wrong settings at the start are %v", err)
	}
}
