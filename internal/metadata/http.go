package metadata

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// httpTimeout is how long a whole answer may take.
const httpTimeout = 5 * time.Second

// userAgent is what servers are told about who asks.
const userAgent = "kcm"

// answer is what an address gave last.
type answer struct {
	data []byte
	// etag is as the server said; empty: it did not. Its Last-Modified is not
	// asked back: of two versions in one second, or an older one, it knows nothing.
	etag string
	err  error // why the last request was in vain; data is of an earlier one
}

// readAddress reads an http or https source.
func readAddress(ctx context.Context, source string, opt Options) ([]document, error) {
	got, known := opt.from.answer(source)
	if !known {
		got = ask(ctx, source, opt, answer{})
		opt.from.keep(source, got)
	}
	if got.err != nil {
		return nil, got.err
	}
	return []document{{name: displayName(source), remote: true, data: got.data}}, nil
}

// ask sends one request; last is what is known of the address, and comes back
// if the server says that nothing changed.
func ask(ctx context.Context, source string, opt Options, last answer) answer {
	name := displayName(source)
	failed := func(err error) answer {
		last.err = err
		return last
	}
	req, first, err := request(ctx, source, opt, last)
	if err != nil {
		return failed(err)
	}
	resp, err := httpClient(opt.HTTP, first).Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return failed(fmt.Errorf("metadata source %s: %w", name, context.Cause(ctx)))
		}
		return failed(httpFault(name, first.Host, err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
	case resp.StatusCode == http.StatusNotModified && last.data != nil:
		last.err = nil
		return last
	case resp.StatusCode >= http.StatusInternalServerError:
		return failed(unreachable(name, status(resp)))
	default:
		return failed(unreadable(name, errors.New(status(resp))))
	}
	data, err := readAll(resp.Body, maxSource)
	if err != nil {
		if ctx.Err() != nil {
			return failed(fmt.Errorf("metadata source %s: %w", name, context.Cause(ctx)))
		}
		return failed(httpFault(name, resp.Request.URL.Host, err))
	}
	return answer{data: data, etag: resp.Header.Get("ETag")}
}

func status(resp *http.Response) string {
	return fmt.Sprintf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
}

// request makes the request for a source. User-info in the address is sent as
// basic authentication, else the token; both only to the host that they are
// meant for.
func request(ctx context.Context, source string, opt Options, last answer) (*http.Request, *url.URL, error) {
	name := displayName(source)
	u, err := url.Parse(source)
	if err != nil || u.Host == "" {
		return nil, nil, unreadable(name, errors.New("this is no address"))
	}
	user := u.User
	u.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, nil, unreadable(name, errors.New("this is no address"))
	}
	req.Header.Set("User-Agent", userAgent)
	if last.data != nil && last.etag != "" {
		req.Header.Set("If-None-Match", last.etag)
	}
	if user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
		return req, u, nil
	}
	t, err := bearer(name, opt.Getenv)
	if t != "" {
		req.Header.Set("Authorization", "Bearer "+t)
	}
	return req, u, err
}

// httpClient returns a client that gives up in time and sends credentials to no
// other host. The library would still send them to subdomains and other ports.
func httpClient(given *http.Client, first *url.URL) *http.Client {
	var c http.Client
	if given != nil {
		c = *given
	}
	if c.Timeout == 0 {
		c.Timeout = httpTimeout
	}
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= 10:
			return errRedirects
		case !isAddress(req.URL.String()):
			return errElsewhere
		}
		if req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
			req.Header.Del("Authorization")
		}
		return nil
	}
	return &c
}
