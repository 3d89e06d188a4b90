package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"
)

// kerberos logs in with a key table, a password or a ticket cache, whichever is
// configured. Realms and servers come from $KRB5_CONFIG or /etc/krb5.conf.
func (b *builder) kerberos(jaas jaasEntry) (*login, error) {
	conf, err := b.krb5conf()
	if err != nil {
		return nil, err
	}
	service := first(b.p.orOption("sasl.kerberos.service.name", jaas, "serviceName"), "kafka")
	principal := b.p.optionOr(jaas, "principal", "sasl.kerberos.principal")
	if s := b.cfg.SASL; s != nil && s.Username != "" {
		principal = s.Username
	}
	user, realm, _ := strings.Cut(principal, "@")
	realm = first(realm, conf.LibDefaults.DefaultRealm)
	connect, err := b.krb5client(jaas, conf, user, realm)
	if err != nil {
		return nil, err
	}
	k := &krbLogin{connect: connect}
	return &login{user: principal, close: k.close, Mechanism: kerberos.Kerberos(func(context.Context) (kerberos.Auth, error) {
		c, err := k.client()
		return kerberos.Auth{Client: c, Service: service, PersistAfterAuth: true}, err
	})}, nil
}

func (b *builder) krb5conf() (*config.Config, error) {
	path := first(os.Getenv("KRB5_CONFIG"), "/etc/krb5.conf")
	data, err := readFile(path)
	if err != nil {
		return nil, b.usage("sasl", "GSSAPI needs Kerberos' configuration: %w", err).
			WithHint("set KRB5_CONFIG to the krb5.conf of your realm")
	}
	conf, err := config.NewFromString(string(data))
	if err != nil {
		if _, ok := errors.AsType[config.UnsupportedDirective](err); !ok {
			return nil, b.usage("sasl", "%s is not a Kerberos configuration", path)
		}
	}
	return conf, nil
}

// krb5client reads the credentials and returns what makes a client of them.
func (b *builder) krb5client(jaas jaasEntry, conf *config.Config, user, realm string) (func() (*krb.Client, error), error) {
	fast := krb.DisablePAFXFAST(true) // Active Directory does not answer it
	x := jaas.from
	table, dir := jaas.options["keyTab"], x.Dir
	if y, ok := b.p.get("sasl.kerberos.keytab"); table == "" || ok && y.Layer < x.Layer {
		x = y
		table, dir = x.Value.Reveal(), x.Dir
	}
	switch s := b.cfg.SASL; {
	case s != nil && s.Password != "":
		if user == "" {
			return nil, b.usage("sasl.password", "a password needs a principal").WithHint("sasl.username, or sasl.kerberos.principal")
		}
		pass := s.Password.Reveal()
		return func() (*krb.Client, error) { return krb.NewWithPassword(user, realm, pass, conf, fast), nil }, nil
	case table != "":
		if user == "" {
			return nil, b.p.wrong(x, "a key table needs a principal").WithHint("sasl.kerberos.principal, or principal in sasl.jaas.config")
		}
		kt, err := loadKeytab(resolve(dir, strings.TrimPrefix(table, "file:")))
		if err != nil {
			return nil, b.p.wrong(x, "%w", err)
		}
		return func() (*krb.Client, error) { return krb.NewWithKeytab(user, realm, kt, conf, fast), nil }, nil
	}
	path := strings.TrimPrefix(first(jaas.options["ticketCache"], os.Getenv("KRB5CCNAME"), fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid())), "FILE:")
	return func() (*krb.Client, error) {
		cache, err := loadTickets(path)
		if err != nil {
			return nil, fmt.Errorf("no ticket: %w", err)
		}
		return krb.NewFromCCache(cache, conf, fast)
	}, nil
}

func loadKeytab(path string) (kt *keytab.Keytab, err error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	defer damaged(path, &err)
	kt = keytab.New()
	if kt.Unmarshal(data) != nil {
		return nil, errors.New(path + " is not a key table")
	}
	return kt, nil
}

func loadTickets(path string) (cache *credentials.CCache, err error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	defer damaged(path, &err)
	cache = new(credentials.CCache)
	if cache.Unmarshal(data) != nil {
		return nil, errors.New(path + " is not a ticket cache")
	}
	return cache, nil
}

// damaged turns a panic into an error: the library reads these files without
// checking lengths.
func damaged(path string, err *error) {
	if recover() != nil {
		*err = errors.New(path + " is damaged")
	}
}

// krbLogin makes the Kerberos client when the first connection needs it; all
// clients of the cluster share its tickets.
type krbLogin struct {
	connect func() (*krb.Client, error)

	mu sync.Mutex
	c  *krb.Client
}

func (k *krbLogin) client() (*krb.Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.c != nil {
		return k.c, nil
	}
	c, err := k.connect()
	if err == nil {
		k.c = c
	}
	return c, err
}

func (k *krbLogin) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.c != nil {
		k.c.Destroy()
		k.c = nil
	}
}
