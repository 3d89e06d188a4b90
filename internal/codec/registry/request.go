package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

const (
	defaultWait   = 5 * time.Second
	maxAnswer     = 16 << 20 // bytes of one answer
	maxRedirects  = 5
	firstBackoff  = 100 * time.Millisecond
	longestPause  = time.Second      // between attempts while a caller waits
	longestBusy   = time.Minute      // of what a registry may ask for with Retry-After
	idleTimeout   = 90 * time.Second // of a connection
	contentType   = "application/vnd.schemaregistry.v1+json"
	patienceWrite = 3 // a write may take so many times the wait of a read
)

// newHTTP returns a client whose deadlines come from contexts.
func newHTTP(cfg *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:     cfg,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 32, // lists of subjects are asked for by many at once
			IdleConnTimeout:     idleTimeout,
			// Schemas are small, and Apicurio Registry 3.3.3 damages what it
			// compresses when it speaks HTTP/2.
			DisableCompression: true,
		},
		CheckRedirect: checkRedirect,
	}
}

// checkRedirect lets credentials go to the host and scheme of the first request
// only: the library would send them to its subdomains and other ports as well.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errRedirects
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return errElsewhere
	}
	req.Header.Del("Referer") // has the query of an address, which may be a secret
	if first := via[0].URL; req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		req.Header.Del("Authorization")
	}
	return nil
}

// question is one request to a registry.
type question struct {
	method string
	path   string // with a slash first, escaped, perhaps with a query
	body   any    // sent as JSON; nil: none
	about  string // what is asked for, for messages: schema 7
	once   bool   // asked at each address once, without another try
	reads  bool   // it changes nothing, although it is no GET
	// unusual says what a registry lacks that does not know the path: it is not
	// one that every registry has.
	unusual string
	// registers is the subject that is to get a version; empty: none.
	registers string
}

// ask asks until there is an answer, which goes to into, or time is up. A
// registry's trouble is a *passing in the error's chain.
func (c *Client) ask(ctx context.Context, q question, into any) error {
	wait := c.wait
	if q.method != http.MethodGet && !q.reads {
		wait *= patienceWrite
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var last error
	for pause := firstBackoff; ; pause = min(2*pause, longestPause) {
		err := c.round(ctx, q, into)
		p, ok := errors.AsType[*passing](err)
		if ok && last != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return last // it had the time that it needed, and says more
		}
		last = err
		if !ok || q.once || !sleep(ctx, max(p.after, pause/2+rand.N(pause/2))) { //nolint:gosec // spreading, not secrecy
			return err
		}
	}
}

// sleep waits for d; false, at once, if ctx ends before that.
func sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// round asks the addresses in turn, beginning with the one that answered last,
// until one answers.
func (c *Client) round(ctx context.Context, q question, into any) error {
	n := len(c.addresses)
	from := int(c.current.Load())
	var failures []*failure
	for i := range n {
		at := (from + i) % n
		err := c.try(ctx, c.addresses[at], n-i, q, into)
		f, failed := errors.AsType[*failure](err)
		if !failed {
			c.current.Store(int32(at)) //nolint:gosec // an index of a short list
			return err
		}
		if c.ctx.Err() != nil || errors.Is(ctx.Err(), context.Canceled) {
			e := fault.New(fault.Failed, "the question to %s was cut short", c.name)
			e.Err = &passing{}
			return e
		}
		failures = append(failures, f)
	}
	return c.unanswered(failures)
}

// unanswered is the error of a round in which no address answered.
func (c *Client) unanswered(failures []*failure) error {
	var whys []string
	p := &passing{}
	lasting := true
	for _, f := range failures {
		if why := f.at + ": " + f.why; !slices.Contains(whys, why) {
			whys = append(whys, why)
		}
		lasting = lasting && f.lasting
		p.after = max(p.after, min(f.after, longestBusy))
	}
	err := fault.New(fault.Unreachable, "%s does not answer: %s", c.name, strings.Join(whys, "; "))
	if !lasting {
		err.Err = p
	}
	return err
}

// try asks one address; left is how many are still to be asked, this one
// included, and have to share the time. The error is a *failure if the next
// address may do better, else an answer.
func (c *Client) try(ctx context.Context, a address, left int, q question, into any) error {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
		defer cancel()
	}
	req, err := c.request(ctx, a, q)
	if err != nil {
		return err
	}
	c.requests.Add(1)
	resp, err := c.http.Do(req)
	if err != nil {
		return networkFailure(a.shown, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return networkFailure(a.shown, err)
	case len(body) > maxAnswer:
		return &failure{at: a.shown, why: "the answer is larger than " + strconv.Itoa(maxAnswer>>20) + " MiB", lasting: true}
	case resp.StatusCode == http.StatusOK:
		c.heard.Store(time.Now().UnixNano())
		return c.read(a, body, into)
	}
	return c.status(a, q, resp, body)
}

func (c *Client) request(ctx context.Context, a address, q question) (*http.Request, error) {
	var body io.Reader = http.NoBody
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return nil, fault.New(fault.Failed, "%s cannot be sent to %s: %w", q.about, c.name, err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, a.at(q.path), body)
	if err != nil {
		return nil, fault.New(fault.Usage, "%s cannot be asked for %s: its address is not right", c.name, q.about)
	}
	req.Header.Set("Accept", contentType+", application/json")
	req.Header.Set("User-Agent", "kcm")
	if q.body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	switch {
	case c.login.token != "":
		req.Header.Set("Authorization", "Bearer "+c.login.token)
	case c.login.user != "" || c.login.password != "":
		req.SetBasicAuth(c.login.user, c.login.password)
	}
	return req, nil
}

// read takes the JSON of a good answer.
func (c *Client) read(a address, body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return &failure{at: a.shown, why: notRegistry(body), lasting: true}
	}
	return nil
}

// status makes an error of an answer that is not 200.
func (c *Client) status(a address, q question, resp *http.Response, body []byte) error {
	var said struct {
		Code    int    `json:"error_code"`
		Message string `json:"message"`
	}
	isJSON := json.Unmarshal(body, &said) == nil
	r := &refusal{about: q.about, at: a.shown, status: resp.StatusCode, code: said.Code, message: oneLine(said.Message)}
	switch s := resp.StatusCode; {
	case s >= http.StatusInternalServerError, s == http.StatusTooManyRequests, s == http.StatusRequestTimeout:
		return &failure{at: a.shown, why: r.words(), after: retryAfter(resp.Header, time.Now())}
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return c.refused(r, q)
	case s < http.StatusBadRequest:
		return &failure{at: a.shown, why: r.words(), lasting: true}
	case s == http.StatusNotFound && said.Code/100 == http.StatusNotFound:
		return r // 40401, 40402, 40403 … of a registry
	case s == http.StatusNotFound && q.unusual != "":
		return c.lacking(q)
	case s == http.StatusNotFound, !isJSON:
		return &failure{at: a.shown, why: notRegistry(body), lasting: true}
	}
	return r
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3); 0 if there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(n, 0), int(longestBusy/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longestBusy)
}

// subjectPath is the path of a subject, whose name may hold any character; a
// context in front of it (:.name:) stays as it is.
func subjectPath(subject string) string { return "/subjects/" + url.PathEscape(subject) }
