package metadata

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// httpTimeout is how long a whole answer may take.
const httpTimeout = 5 * time.Second

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
	if user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	resp, err := httpClient(given, u).Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("metadata source %s: %w", name, context.Cause(ctx))
		}
		return nil, unreadable(name, httpReason(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, unreadable(name, fmt.Errorf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	}
	data, err := readAll(resp.Body, maxSource)
	if err != nil {
		return nil, unreadable(name, httpReason(err))
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
		if len(via) >= 10 {
			return errRedirects
		}
		if req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
			req.Header.Del("Authorization")
		}
		return nil
	}
	return &c
}

var errRedirects = errors.New("too many redirects")

// httpReason names what went wrong without repeating an address, which may hold
// secrets.
func httpReason(err error) error {
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return errors.New("no answer in time")
	}
	if errors.Is(err, errRedirects) {
		return errRedirects
	}
	if errors.Is(err, errTooLarge) {
		return err // of readAll, not of the request
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return e
	}
	return errors.New("the request failed")
}
