package registry

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/fault"
)

var refusedConnection = reply{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}

const eastDown = "the registry of east does not answer: http://sr0:8081: "

// within runs f and reports how long it took.
func within(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func TestOneRequestForEachID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		for id := range 5 {
			s.set(fmt.Sprintf("/schemas/ids/%d", id+1), reply{body: encoded(stored{Text: fmt.Sprint("s", id+1)}), after: time.Second})
		}
		c := inBubble(t, &s)
		var all sync.WaitGroup
		for i := range 500 {
			all.Go(func() {
				if got, want := textOf(t, c, number(int64(i%5+1))), fmt.Sprint("s", i%5+1); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
		all.Wait()
		textOf(t, c, number(3))
		got := s.asked()
		slices.Sort(got)
		if want := []string{"GET /schemas/ids/1", "GET /schemas/ids/2", "GET /schemas/ids/3", "GET /schemas/ids/4", "GET /schemas/ids/5"}; !slices.Equal(got, want) {
			t.Errorf("requests %q", got)
		}
		if n := c.Requests(); n != 5 {
			t.Errorf("%d requests counted", n)
		}
	})
}

func TestNotFoundIsRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		c := inBubble(t, &s)
		for range 10_000 {
			_, err := c.Schema(number(999))
			wantError(t, err, "schema 999 is not in the registry of east (http://sr0:8081)")
			if !errors.Is(err, ErrNotFound) {
				t.Fatal("the error is not ErrNotFound")
			}
			time.Sleep(2 * time.Millisecond)
		}
		wantLog(t, &s, "GET /schemas/ids/999")
		s.schema(999, "there now")
		time.Sleep(11 * time.Second)
		if got := textOf(t, c, number(999)); got != "there now" {
			t.Errorf("got %s", got)
		}
		wantLog(t, &s, "GET /schemas/ids/999", "GET /schemas/ids/999")
	})
}

func TestTroubleIsRetried(t *testing.T) {
	for name, bad := range map[string]reply{
		"503":          {status: http.StatusServiceUnavailable},
		"500":          {status: http.StatusInternalServerError, body: `{"error_code":50001,"message":"store"}`},
		"429":          {status: http.StatusTooManyRequests},
		"refused":      refusedConnection,
		"reset":        {err: syscall.ECONNRESET},
		"a short hang": {err: &net.OpError{Op: "read", Err: timeoutError{}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s stub
				s.set("/schemas/ids/8", bad, bad, bad, reply{body: `{"schema":"eight"}`})
				c := inBubble(t, &s)
				took := within(func() {
					if got := textOf(t, c, number(8)); got != "eight" {
						t.Errorf("got %s", got)
					}
				})
				if n := len(s.asked()); n != 4 || took > 2*time.Second || took < 300*time.Millisecond {
					t.Errorf("%d requests in %s", n, took)
				}
			})
		})
	}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

func TestRetryAfterIsHeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		s.set("/schemas/ids/8", reply{status: http.StatusTooManyRequests, header: map[string]string{"Retry-After": "3"}}, reply{body: `{"schema":"eight"}`})
		s.set("/schemas/ids/9", reply{status: http.StatusServiceUnavailable, header: map[string]string{"Retry-After": "40"}}, reply{body: `{"schema":"nine"}`})
		c := inBubble(t, &s)
		if took := within(func() { textOf(t, c, number(8)) }); took != 3*time.Second {
			t.Errorf("the second attempt came after %s", took)
		}
		var err error
		took := within(func() { _, err = c.Schema(number(9)) })
		wantError(t, err, eastDown+"503 Service Unavailable")
		if took > time.Second {
			t.Errorf("waited %s for a registry that wants no question for 40 s", took)
		}
		time.Sleep(39 * time.Second)
		if n := len(s.asked()); n != 3 {
			t.Errorf("%d requests before the 40 s are over", n)
		}
		time.Sleep(6 * time.Second)
		if got := textOf(t, c, number(9)); got != "nine" {
			t.Errorf("got %s", got)
		}
	})
}

func TestDownAndBack(t *testing.T) {
	for name, down := range map[string]struct {
		r   reply
		why string
	}{
		"refused": {refusedConnection, "the connection is refused"},
		"hanging": {reply{hang: true}, "no answer in time"},
		"503":     {reply{status: http.StatusServiceUnavailable, body: "<html>"}, "503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s stub
				s.schema(1, "one")
				s.schema(2, "two")
				s.schema(3, "three")
				c := inBubble(t, &s)
				textOf(t, c, number(1))
				s.all(&down.r)
				began := time.Now()
				var all sync.WaitGroup
				for i := range 20 { // of two ids, beginning over two seconds
					all.Go(func() {
						time.Sleep(time.Duration(i) * 100 * time.Millisecond)
						_, err := c.Schema(number(int64(i%2 + 2)))
						wantError(t, err, eastDown+down.why)
					})
				}
				all.Wait()
				if waited := time.Since(began); waited < 4*time.Second || waited > defaultWait {
					t.Errorf("the callers waited %s", waited)
				}
				before := len(s.asked())
				took := within(func() {
					for range 1000 {
						for id := range 50 { // new ones too
							_, err := c.Schema(number(int64(id + 2)))
							wantError(t, err, eastDown+down.why)
						}
					}
				})
				if took != 0 {
					t.Errorf("callers wait %s while the registry is down", took)
				}
				if got := textOf(t, c, number(1)); got != "one" {
					t.Errorf("a known schema is %s", got)
				}
				time.Sleep(time.Minute)
				if n := len(s.asked()) - before; n < 7 || n > 27 {
					t.Errorf("%d requests in a minute of being down", n)
				}
				s.all(nil)
				before = len(s.asked())
				time.Sleep(9 * time.Second) // an attempt that hangs ends, and the next one comes
				if n := len(s.asked()) - before; n < 2 || n > 30 {
					t.Errorf("%d requests when it is back, for 2 ids and those of the attempts", n)
				}
				took = within(func() {
					for id, want := range map[int64]string{2: "two", 3: "three"} {
						if got := textOf(t, c, number(id)); got != want {
							t.Errorf("schema %d is %s", id, got)
						}
					}
					_, err := c.Schema(number(40))
					wantError(t, err, "schema 40 is not in the registry of east (http://sr0:8081)")
				})
				if took != 0 {
					t.Errorf("the callers waited %s for a registry that is back", took)
				}
			})
		})
	}
}

// The registry works, but for one schema: only callers of that one wait, once.
func TestTroubleWithOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		s.set("/schemas/ids/9", reply{status: http.StatusInternalServerError, body: `{"error_code":50001,"message":"Error in the\n backend  store"}`})
		c := inBubble(t, &s)
		const nine = eastDown + "500 Error in the backend store"
		took := within(func() {
			_, err := c.Schema(number(9))
			wantError(t, err, nine)
		})
		if took < 4*time.Second || took > defaultWait {
			t.Errorf("waited %s", took)
		}
		for id := range 20 {
			s.schema(id+10, fmt.Sprint(id+10))
		}
		// The first one finds it down; the next attempt shows that it is not.
		_, err := c.Schema(number(10))
		wantError(t, err, nine)
		time.Sleep(8 * time.Second)
		took = within(func() {
			for id := range 20 {
				if got := textOf(t, c, number(int64(id+10))); got != fmt.Sprint(id+10) {
					t.Errorf("schema %d is %s", id+10, got)
				}
				_, err := c.Schema(number(9))
				wantError(t, err, nine)
			}
		})
		if took != 0 {
			t.Errorf("waited %s", took)
		}
		s.schema(9, "nine")
		time.Sleep(4 * time.Second)
		if got := textOf(t, c, number(9)); got != "nine" {
			t.Errorf("schema 9 is %s", got)
		}
	})
}

// While one id's callers wait in vain, others get answers: the registry is not down.
func TestTroubleWithOneIDAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		s.set("/schemas/ids/9", reply{status: http.StatusInternalServerError})
		s.schema(10, "ten")
		s.schema(11, "eleven")
		c := inBubble(t, &s)
		var all sync.WaitGroup
		all.Go(func() {
			_, err := c.Schema(number(9))
			wantError(t, err, eastDown+"500 Internal Server Error")
		})
		time.Sleep(time.Second)
		textOf(t, c, number(10))
		all.Wait()
		took := within(func() {
			if got := textOf(t, c, number(11)); got != "eleven" {
				t.Errorf("schema 11 is %s", got)
			}
			_, err := c.Schema(number(9))
			wantError(t, err, eastDown+"500 Internal Server Error")
		})
		if took != 0 {
			t.Errorf("waited %s", took)
		}
	})
}

// A schema with many references on a slow registry: its callers wait no longer
// than usual, and what was fetched counts for the next attempt.
func TestSlowRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		var refs []storedReference
		for i := range 12 {
			subject := fmt.Sprint("r", i)
			refs = append(refs, storedReference{Name: subject, Subject: subject, Version: 1})
			s.set("/subjects/"+subject+"/versions/1?deleted=true", reply{body: `{"schema":"x"}`, after: time.Second})
		}
		s.set("/schemas/ids/7", reply{body: encoded(stored{Text: "seven", References: refs}), after: time.Second})
		c := inBubble(t, &s)
		took := within(func() {
			if got := textOf(t, c, number(7)); got != "seven" {
				t.Errorf("got %s", got)
			}
		})
		if took < 13*time.Second || took > 20*time.Second {
			t.Errorf("waited %s for 13 answers of a second each", took)
		}
		if got := textOf(t, c, number(7)); got != "seven" {
			t.Errorf("got %s", got)
		}
		seen := map[string]int{}
		for _, path := range s.asked() {
			seen[path]++
		}
		for path, n := range seen {
			if n > 3 {
				t.Errorf("%s was asked %d times", path, n)
			}
		}
	})
}

// TestOutagesAreTold: once each way.
func TestOutagesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		s.schema(1, "one")
		s.all(&refusedConnection)
		told := make(chan string, 10)
		c := inBubble(t, &s)
		c.told = func(err error) { told <- fmt.Sprint(err) }
		for id := range 3 {
			_, err := c.Schema(number(int64(id + 1)))
			wantError(t, err, eastDown+"the connection is refused")
		}
		s.all(nil)
		time.Sleep(30 * time.Second)
		if got := textOf(t, c, number(1)); got != "one" {
			t.Errorf("got %s", got)
		}
		if down, back := <-told, <-told; down != eastDown+"the connection is refused" || back != "<nil>" || len(told) > 0 {
			t.Errorf("told %q, then %q, and %d more", down, back, len(told))
		}
	})
}

func TestRefusalsAreRemembered(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bad   reply
		login login
		want  string
		keep  time.Duration
		kind  fault.Kind
	}{
		{"401", reply{status: 401}, login{user: "app", password: "S3cr3t"}, "the registry of east refuses user app (401)", keepError, fault.Auth},
		{"401 token", reply{status: 401}, login{token: "S3cr3t"}, "the registry of east refuses the bearer token (401)", keepError, fault.Auth},
		{"401 nothing", reply{status: 401}, login{}, "the registry of east refuses requests without credentials (401)", keepError, fault.Auth},
		{"403", reply{status: 403, body: `{"error_code":40301,"message":"no"}`}, login{user: "app"}, "the registry of east forbids user app access to schema 7 (403)", keepError, fault.Auth},
		{"422", reply{status: 422, body: `{"error_code":42299,"message":"odd"}`}, login{}, "the registry of east answers 422 odd for schema 7", keepError, fault.Failed},
		{"a web page", reply{body: "<!doctype html>"}, login{}, eastDown + "the answer is a web page; does its address lack a path, such as /apis/ccompat/v7?", keepError, fault.Unreachable},
		{"no schema", reply{body: "{}"}, login{}, "the registry of east answers without a schema for schema 7", keepError, fault.Failed},
		{"does not compile", reply{body: `{"schema":"bad"}`}, login{}, "schema 7 of the registry of east does not compile: unknown type bad", keepCompile, fault.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s stub
				s.set("/schemas/ids/7", tt.bad)
				c := inBubble(t, &s)
				c.login = tt.login
				for range 3 {
					for range 100 {
						_, err := c.Schema(number(7))
						wantError(t, err, tt.want)
						if k := fault.KindOf(err); k != tt.kind {
							t.Errorf("the kind is %d, want %d", k, tt.kind)
						}
					}
					time.Sleep(tt.keep/2 - time.Millisecond) // the third time is just before it ends
				}
				wantLog(t, &s, "GET /schemas/ids/7")
			})
		})
	}
}

func TestAddressThatWorksIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b stub
		a.all(&refusedConnection)
		for id := range 9 {
			a.schema(id, "a")
			b.schema(id, "b")
		}
		c := inBubble(t, &a, &b)
		for id := range int64(3) {
			if got := textOf(t, c, number(id+1)); got != "b" {
				t.Errorf("schema %d came from %s", id+1, got)
			}
		}
		wantLog(t, &a, "GET /schemas/ids/1")
		wantLog(t, &b, "GET /schemas/ids/1", "GET /schemas/ids/2", "GET /schemas/ids/3")
		a.all(nil)
		b.all(&reply{status: http.StatusBadGateway})
		if got := textOf(t, c, number(4)); got != "a" {
			t.Errorf("schema 4 came from %s", got)
		}
		a.all(&reply{hang: true})
		var err error
		took := within(func() { _, err = c.Schema(number(5)) })
		wantError(t, err, "the registry of east does not answer: http://sr0:8081: no answer in time; http://sr1:8081: 502 Bad Gateway")
		if took > defaultWait {
			t.Errorf("waited %s", took)
		}
	})
}

func TestCloseEndsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		s.all(&reply{hang: true})
		c := inBubble(t, &s)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				_, err := c.Schema(number(1))
				wantError(t, err, "the registry of east is no longer asked: the run ends")
			})
		}
		time.Sleep(time.Second)
		if took := within(c.Close); took != 0 {
			t.Errorf("Close took %s", took)
		}
		all.Wait()
		_, err := c.Schema(number(2))
		wantError(t, err, "the registry of east is no longer asked: the run ends")
	})
}

func TestNoID(t *testing.T) {
	var s stub
	c := inBubble(t, &s)
	for _, id := range []codec.ID{{}, {Number: -1}} {
		if _, err := c.Schema(id); err == nil {
			t.Errorf("schema %s was found", id)
		}
	}
	wantLog(t, &s)
}

// What looks framed by chance has an id of its own each time.
func TestErrorsAreForgottenWhenThereAreTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stub
		c := inBubble(t, &s)
		for id := range int64(3 * maxErrors) {
			_, err := c.Schema(number(id + 1))
			if !errors.Is(err, ErrNotFound) {
				t.Fatal(err)
			}
		}
		if n := len(c.looks.byID); n > maxErrors {
			t.Errorf("%d errors are kept", n)
		}
	})
}

func TestKnownSchemaCostsNoAllocation(t *testing.T) {
	var s stub
	s.schema(7, "seven")
	c := inBubble(t, &s)
	textOf(t, c, number(7))
	if n := testing.AllocsPerRun(100, func() { _, _ = c.Schema(number(7)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
