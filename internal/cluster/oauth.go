package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

// tokenSource gives the token for one authentication.
type tokenSource func(context.Context) (string, error)

// oauth chooses where tokens come from: the token itself, a file, an endpoint,
// or, for tests, a token that nobody signed.
func (b *builder) oauth(jaas jaasEntry) (*login, error) {
	if err := b.oauthUnsupported(); err != nil {
		return nil, err
	}
	source, user, err := b.tokens(jaas)
	if err != nil {
		return nil, err
	}
	ext := map[string]string{}
	for _, kv := range strings.Split(b.p.text("sasl.oauthbearer.extensions"), ",") {
		if k, v, ok := strings.Cut(strings.TrimSpace(kv), "="); ok {
			ext[k] = v
		}
	}
	for k, v := range jaas.options {
		for _, prefix := range []string{"extension_", "unsecuredLoginExtension_"} {
			if name, ok := strings.CutPrefix(k, prefix); ok {
				ext[name] = v
			}
		}
	}
	return &login{user: user, Mechanism: oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := source(ctx)
		if err != nil {
			return oauth.Auth{}, err
		}
		return oauth.Auth{Token: token, Extensions: ext}, nil
	})}, nil
}

// oauthUnsupported refuses ways to get a token that kcm does not know.
func (b *builder) oauthUnsupported() error {
	for key, allowed := range map[string][]string{
		"sasl.oauthbearer.grant.type":                   {"client_credentials"},
		"sasl.oauthbearer.metadata.authentication.type": {"none"},
		"sasl.oauthbearer.method":                       {"oidc", "default"},
	} {
		if _, err := b.p.choice(key, allowed...); err != nil {
			return err
		}
	}
	x, ok := b.p.get("sasl.oauthbearer.jwt.retriever.class")
	if !ok {
		return nil
	}
	for _, suffix := range []string{"DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever"} {
		if strings.HasSuffix(x.Value.Reveal(), suffix) {
			return nil
		}
	}
	return b.p.wrong(x, "kcm runs no Java classes and knows none of this name")
}

func (b *builder) tokens(jaas jaasEntry) (tokenSource, string, error) {
	if s := b.cfg.SASL; s != nil {
		switch {
		case s.Token != "":
			return staticToken(s.Token.Reveal()), "", nil
		case s.TokenFile != "":
			return fileToken(resolve(b.cfg.Dir, s.TokenFile)), "", nil
		}
	}
	endpoint, set := b.p.get("sasl.oauthbearer.token.endpoint.url")
	if t := jaas.options["oauth.access.token"]; t != "" && (!set || jaas.from.Layer <= endpoint.Layer) {
		return staticToken(t), "", nil
	}
	if u := jaas.options["oauth.token.endpoint.uri"]; u != "" && (!set || jaas.from.Layer < endpoint.Layer) {
		endpoint, set = jaas.from, true
		endpoint.Value = Secret(u)
	}
	if set {
		return b.endpointTokens(endpoint, jaas)
	}
	return b.unsecured(jaas)
}

func (b *builder) endpointTokens(x Property, jaas jaasEntry) (tokenSource, string, error) {
	u, err := url.Parse(x.Value.Reveal())
	if err != nil || u.Scheme == "" {
		return nil, "", b.p.wrong(x, "not a URL")
	}
	switch u.Scheme {
	case "file":
		path := filepath.FromSlash(u.Path)
		if u.Opaque != "" {
			path = resolve(x.Dir, u.Opaque)
		}
		return fileToken(path), "", nil
	case "http", "https":
	default:
		return nil, "", b.p.wrong(x, "a token endpoint is http, https or file, not %s", u.Scheme)
	}
	e, err := b.endpoint(u, jaas)
	if err != nil {
		return nil, "", err
	}
	return e.token, e.id, nil
}

// unsecured makes unsigned tokens, which brokers accept only in tests, when the
// user asked for them in Java's or librdkafka's way.
func (b *builder) unsecured(jaas jaasEntry) (tokenSource, string, error) {
	subject := jaas.options["unsecuredLoginStringClaim_sub"]
	on, err := b.p.boolean("enable.sasl.oauthbearer.unsecure.jwt", false)
	if err != nil {
		return nil, "", err
	}
	if on {
		for _, kv := range strings.Fields(b.p.text("sasl.oauthbearer.config")) {
			if k, v, _ := strings.Cut(kv, "="); k == "principal" {
				subject = v
			}
		}
	}
	if subject == "" {
		return nil, "", b.usage("sasl", "OAUTHBEARER needs a token").
			WithHint("sasl.oauthbearer.token.endpoint.url with client id and secret, or file:///path there")
	}
	return func(context.Context) (string, error) { return unsecuredJWT(subject, time.Now()) }, subject, nil
}

// unsecuredJWT is RFC 7515's appendix A.5: a token with an empty signature.
func unsecuredJWT(subject string, now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"sub": subject, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()})
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding
	return enc.EncodeToString([]byte(`{"alg":"none"}`)) + "." + enc.EncodeToString(claims) + ".", nil
}

func staticToken(token string) tokenSource {
	return func(context.Context) (string, error) { return token, nil }
}

// fileToken reads the file for each authentication: whoever renews the token
// replaces the file.
func fileToken(path string) tokenSource {
	return func(context.Context) (string, error) {
		data, err := readFile(path)
		if err != nil {
			return "", err
		}
		token := strings.TrimSpace(string(data))
		if token == "" {
			return "", errors.New(path + " is empty")
		}
		return token, nil
	}
}
