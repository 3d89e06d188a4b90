package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// endpoint gets tokens by OAuth's client credentials grant (RFC 6749, 4.4) and
// keeps one until four fifths of its life are over.
type endpoint struct {
	url    *url.URL
	id     string
	secret Secret
	scope  string
	http   *http.Client
	now    func() time.Time

	mu      sync.Mutex // held while a token is fetched: all connections of a start share one
	cached  Secret
	renewAt time.Time
}

func (b *builder) endpoint(u *url.URL, jaas jaasEntry) (*endpoint, error) {
	e := &endpoint{url: u, now: time.Now}
	e.id = b.p.orOption("sasl.oauthbearer.client.credentials.client.id", jaas, "clientId", "oauth.client.id")
	e.secret = Secret(b.p.orOption("sasl.oauthbearer.client.credentials.client.secret", jaas, "clientSecret", "oauth.client.secret"))
	if s := b.cfg.SASL; s != nil {
		e.id, e.secret = first(s.Username, e.id), Secret(first(s.Password.Reveal(), e.secret.Reveal()))
	}
	e.scope = b.p.orOption("sasl.oauthbearer.scope", jaas, "scope", "oauth.scope")
	if e.id == "" || e.secret == "" {
		return nil, b.usage("sasl", "the token endpoint needs a client id and a client secret").
			WithHint("sasl.oauthbearer.client.credentials.client.id and .client.secret, or clientId and clientSecret in sasl.jaas.config")
	}
	encode, err := b.p.boolean("sasl.oauthbearer.header.urlencode", false)
	if err != nil {
		return nil, err
	}
	if encode {
		e.id, e.secret = url.QueryEscape(e.id), Secret(url.QueryEscape(e.secret.Reveal()))
	}
	e.http, err = b.endpointClient(jaas)
	return e, err
}

// endpointClient makes the HTTP client; its trust is that of https.ca.* or of
// the login module's own ssl.truststore options, as in Java, else the system's.
func (b *builder) endpointClient(jaas jaasEntry) (*http.Client, error) {
	connect, err := b.p.millis("sasl.login.connect.timeout.ms", 3*time.Second)
	if err != nil {
		return nil, err
	}
	read, err := b.p.millis("sasl.login.read.timeout.ms", 4*time.Second)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	key, x := b.p.foremost("https.ca.pem", "https.ca.location")
	if loc := jaas.options["ssl.truststore.location"]; loc != "" && (key == "" || jaas.from.Layer < x.Layer) {
		x = jaas.from
		var data []byte
		if data, err = readFile(resolve(x.Dir, loc)); err != nil {
			return nil, b.p.wrong(x, "%w", err)
		}
		c.RootCAs, err = b.pool(data, jaas.options["ssl.truststore.password"], func(err error) error { return b.p.wrong(x, "%s: %w", loc, err) })
	} else if key == "https.ca.pem" {
		c.RootCAs, err = b.pool([]byte(x.Value.Reveal()), "", func(err error) error { return b.p.wrong(x, "%w", err) })
	} else if key != "" && x.Value.Reveal() != "probe" {
		var data []byte
		if data, err = readFileOrDir(resolve(x.Dir, x.Value.Reveal())); err != nil {
			return nil, b.p.wrong(x, "%w", err)
		}
		c.RootCAs, err = b.pool(data, "", func(err error) error { return b.p.wrong(x, "%w", err) })
	}
	return &http.Client{
		Timeout: connect + read,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connect}).DialContext,
			TLSClientConfig: c, ResponseHeaderTimeout: read, DisableKeepAlives: true,
		},
		// A redirect would carry the client's secret elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, err
}

func (e *endpoint) token(ctx context.Context) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cached != "" && e.now().Before(e.renewAt) {
		return e.cached.Reveal(), nil
	}
	token, life, err := e.fetch(ctx)
	if err != nil {
		return "", err
	}
	e.cached, e.renewAt = Secret(token), e.now().Add(life*4/5)
	return token, nil
}

func (e *endpoint) name() string {
	return e.url.Scheme + "://" + e.url.Host + e.url.Path // without user info and query, which may be secret
}

func (e *endpoint) fetch(ctx context.Context) (string, time.Duration, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if e.scope != "" {
		form.Set("scope", e.scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, errors.New("the token endpoint's address is malformed")
	}
	req.SetBasicAuth(e.id, e.secret.Reveal())
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	resp, err := e.http.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // its text would repeat the address with what is secret in it
		}
		return "", 0, fmt.Errorf("the token endpoint %s cannot be asked: %w", e.name(), err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", 0, fmt.Errorf("the token endpoint %s broke off its answer: %w", e.name(), err)
	}
	return e.read(resp.StatusCode, body)
}

// read takes the token out of an answer, or what is wrong (RFC 6749, 5.2).
func (e *endpoint) read(status int, body []byte) (string, time.Duration, error) {
	var a struct {
		AccessToken string `json:"access_token"`
		IDToken     string `json:"id_token"`
		ExpiresIn   int64  `json:"expires_in"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	jsonErr := json.Unmarshal(body, &a)
	if status != http.StatusOK {
		why := strings.TrimSpace(a.Error + " " + a.Description)
		if why != "" {
			why = ": " + strings.ReplaceAll(why, e.secret.Reveal(), masked)
		}
		return "", 0, fmt.Errorf("the token endpoint %s answers %d %s%s", e.name(), status, http.StatusText(status), why)
	}
	token := first(a.AccessToken, a.IDToken)
	if jsonErr != nil || token == "" {
		return "", 0, fmt.Errorf("the token endpoint %s: %w", e.name(), errNoToken)
	}
	life := time.Duration(a.ExpiresIn) * time.Second
	if a.ExpiresIn <= 0 || a.ExpiresIn > 1<<30 {
		life = time.Minute // the endpoint does not say: ask again soon
	}
	return token, life, nil
}

// first returns the first of s that is not empty.
func first(s ...string) string {
	for _, x := range s {
		if x != "" {
			return x
		}
	}
	return ""
}
