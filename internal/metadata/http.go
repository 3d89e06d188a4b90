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

// readAddress reads an http or https source. User-info in the address is sent
// as basic authentication, and only to the host that it was meant for.
func readAddress(ctx context.Context, source string, given *http.Client) ([]document, error) {
	name := displayName(source)
	u, err := url.Parse(source)
	if err != nil || u.Host == "" {
		return nil, unreadable(name, errors.New("this is no address"))
	}
	user := u.User
	u.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, unreadable(name, errors.New("this is no address"))
	}
	req.Header.Set("User-Agent", userAgent)
	if user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	resp, err := httpClient(given, u).Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("metadata source %s: %w", name, context.Cause(ctx))
		}
		return nil, httpFault(name, u.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer := fmt.Errorf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
		if resp.StatusCode >= http.StatusInternalServerError {
			return nil, unreachable(name, answer.Error())
		}
		return nil, unreadable(name, answer)
	}
	data, err := readAll(resp.Body, maxSource)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("metadata source %s: %w", name, context.Cause(ctx))
		}
		return nil, httpFault(name, resp.Request.URL.Host, err)
	}
	return []document{{name: name, remote: true, data: data}}, nil
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
