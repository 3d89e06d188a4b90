package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// login is how the cluster authenticates. Its user is for messages; everything
// secret is inside the mechanism.
type login struct {
	sasl.Mechanism
	user  string
	close func() // may be nil
}

// loginError marks an error that came up before the broker saw anything: an
// endpoint that gives no token, a ticket cache that is not there.
type loginError struct {
	mechanism string
	err       error
}

func (e *loginError) Error() string { return e.mechanism + ": " + e.err.Error() }
func (e *loginError) Unwrap() error { return e.err }

// Authenticate begins a session; its errors are *loginError.
func (l *login) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	s, first, err := l.Mechanism.Authenticate(ctx, host)
	if err != nil {
		err = &loginError{mechanism: l.Name(), err: err}
	}
	return s, first, err
}

// The login modules of sasl.jaas.config, by the end of their class name: vendors
// ship them under prefixes of their own, and IBM's Kerberos is in com.ibm.
const (
	modulePlain = "org.apache.kafka.common.security.plain.PlainLoginModule"
	moduleScram = "org.apache.kafka.common.security.scram.ScramLoginModule"
	moduleOAuth = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
	moduleKrb5  = "com.sun.security.auth.module.Krb5LoginModule"
	moduleIAM   = "software.amazon.msk.auth.iam.IAMLoginModule"
)

var moduleOf = map[string]string{
	"PLAIN": modulePlain, "SCRAM-SHA-256": moduleScram, "SCRAM-SHA-512": moduleScram,
	"OAUTHBEARER": moduleOAuth, "GSSAPI": moduleKrb5, "AWS_MSK_IAM": moduleIAM,
}

var handlerClasses = map[string]string{
	"sasl.client.callback.handler.class": "IAMClientCallbackHandler",
	"sasl.login.callback.handler.class":  "OAuthBearerLoginCallbackHandler",
}

// login makes the mechanism from the explicit fields and, where those say
// nothing, from the properties.
func (b *builder) login() (*login, error) {
	mech, err := b.mechanism()
	if err != nil {
		return nil, err
	}
	jaas, err := b.jaas(mech)
	if err != nil {
		return nil, err
	}
	if err := b.handlers(); err != nil {
		return nil, err
	}
	if s := b.cfg.SASL; s != nil && mech != "OAUTHBEARER" && (s.Token != "" || s.TokenFile != "") {
		field := "sasl.token"
		if s.Token == "" {
			field = "sasl.tokenFile"
		}
		return nil, b.usage(field, "means nothing for %s", mech)
	}
	switch mech {
	case "OAUTHBEARER":
		return b.oauth(jaas)
	case "GSSAPI":
		return b.kerberos(jaas)
	case "AWS_MSK_IAM":
		return b.iam(jaas)
	}
	return b.password(mech, jaas)
}

func (b *builder) mechanism() (string, error) {
	known := []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"}
	if s := b.cfg.SASL; s != nil && s.Mechanism != "" {
		for _, k := range known {
			if strings.EqualFold(k, s.Mechanism) {
				return k, nil
			}
		}
		return "", b.usage("sasl.mechanism", "%q is none of %s", s.Mechanism, strings.Join(known, ", "))
	}
	mech, err := b.p.choice("sasl.mechanism", known...)
	if err != nil || mech != "" {
		return mech, err
	}
	if s := b.cfg.SASL; s != nil && (s.Username != "" || s.Password != "" || s.Token != "" || s.TokenFile != "") {
		return "", b.usage("sasl.mechanism", "missing").WithHint("one of %s", strings.Join(known, ", "))
	}
	for _, k := range []string{"sasl.username", "sasl.oauthbearer.token.endpoint.url"} {
		if x, ok := b.p.get(k); ok {
			return "", b.p.wrong(x, "sasl.mechanism is missing").WithHint("one of %s", strings.Join(known, ", "))
		}
	}
	return "GSSAPI", nil // the default of Java and librdkafka
}

// jaas parses sasl.jaas.config and holds its module against the mechanism. One
// that nothing is to be taken from may be wrong: when the explicit fields say
// all, or when both the mechanism and the credentials stand in places that win.
func (b *builder) jaas(mech string) (jaasEntry, error) {
	x, ok := b.p.get("sasl.jaas.config")
	if !ok || b.saysAll(mech, FromField) {
		return jaasEntry{}, nil
	}
	e, err := parseJAAS(x.Value.Reveal())
	if want := moduleOf[mech]; err == nil && !strings.HasSuffix(e.module, strings.TrimPrefix(want, "com.sun.")) {
		err = fmt.Errorf("login module %s does not fit sasl.mechanism %s, whose module is %s", e.module, mech, want)
	}
	if err == nil {
		e.from = x
		return e, nil
	}
	if b.mechanismLayer() < x.Layer && b.saysAll(mech, x.Layer) {
		return jaasEntry{}, nil
	}
	return jaasEntry{}, b.p.wrong(x, "%w", err)
}

// mechanismLayer says where the mechanism was chosen.
func (b *builder) mechanismLayer() Layer {
	if s := b.cfg.SASL; s != nil && s.Mechanism != "" {
		return FromField
	}
	return b.p.layer("sasl.mechanism")
}

// saysAll reports whether the credentials are complete without
// sasl.jaas.config: by explicit fields and properties of layers below below.
func (b *builder) saysAll(mech string, below Layer) bool {
	var s SASL
	if b.cfg.SASL != nil {
		s = *b.cfg.SASL
	}
	switch mech {
	case "OAUTHBEARER":
		return s.Token != "" || s.TokenFile != "" || b.p.layer("sasl.oauthbearer.token.endpoint.url") < below
	case "GSSAPI":
		return b.p.layer("sasl.kerberos.keytab") < below
	case "AWS_MSK_IAM":
		return below > FromField // the environment may have them
	}
	return (s.Username != "" || b.p.layer("sasl.username") < below) && (s.Password != "" || b.p.layer("sasl.password") < below)
}

// handlers refuses classes whose work kcm cannot do.
func (b *builder) handlers() error {
	for key, suffix := range handlerClasses {
		x, ok := b.p.get(key)
		class := x.Value.Reveal()
		if !ok || strings.HasSuffix(class, suffix) || strings.HasPrefix(class, "io.strimzi.kafka.oauth.client.") {
			continue
		}
		return b.p.wrong(x, "kcm runs no Java classes and knows none of this name")
	}
	return nil
}

func (b *builder) password(mech string, jaas jaasEntry) (*login, error) {
	user, pass := b.p.optionOr(jaas, "username", "sasl.username"), b.p.optionOr(jaas, "password", "sasl.password")
	if s := b.cfg.SASL; s != nil {
		user, pass = first(s.Username, user), first(s.Password.Reveal(), pass)
	}
	if user == "" || pass == "" {
		field, what := "sasl.username", "user name"
		if user != "" {
			field, what = "sasl.password", "password"
		}
		return nil, b.usage(field, "%s needs a %s", mech, what).
			WithHint("sasl.username and sasl.password, or sasl.jaas.config")
	}
	l := &login{user: user}
	if mech == "PLAIN" {
		l.Mechanism = plain.Auth{User: user, Pass: pass}.AsMechanism()
		return l, nil
	}
	// A delegation token's id and key must both be those of the entry that marks it.
	token := strings.EqualFold(jaas.options["tokenauth"], "true") && user == jaas.options["username"]
	auth := scram.Auth{User: user, Pass: pass, IsToken: token}
	l.Mechanism = auth.AsSha256Mechanism()
	if mech == "SCRAM-SHA-512" {
		l.Mechanism = auth.AsSha512Mechanism()
	}
	return l, nil
}

var errNoToken = errors.New("the answer holds no access token")

// start begins a session and gives it up with ctx: Kerberos and the AWS SDK do
// not always look at theirs.
func (l *login) start(ctx context.Context, addr string) (sasl.Session, []byte, error) {
	type begun struct {
		s     sasl.Session
		first []byte
		err   error
	}
	done := make(chan begun, 1)
	go func() {
		s, first, err := l.Authenticate(ctx, addr)
		done <- begun{s, first, err}
	}()
	select {
	case b := <-done:
		return b.s, b.first, b.err
	case <-ctx.Done():
		return nil, nil, &loginError{mechanism: l.Name(), err: errors.New("no credentials in time")}
	}
}
