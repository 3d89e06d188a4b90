package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// tlsConfig makes the TLS settings of the cluster from the explicit fields and,
// where those say nothing, from the properties.
func (b *builder) tlsConfig() (*tls.Config, error) {
	roots, err := b.roots()
	if err != nil {
		return nil, err
	}
	c := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	id, err := b.identity()
	if err != nil {
		return nil, err
	}
	if id != nil {
		// Given whatever the server's list of authorities says, as librdkafka and
		// kcat do: a server that cannot use it says so, a missing one it never names.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return id, nil }
	}
	if err := b.versions(c); err != nil {
		return nil, err
	}
	allowed, err := b.ciphers(c)
	if err != nil {
		return nil, err
	}
	return c, b.verification(c, allowed)
}

// TLSConfig makes the TLS settings for a server that belongs to a cluster, such as
// its schema registry; nil gives those of the system. Paths are relative to dir.
// Errors are of kind fault.Usage.
func TLSConfig(name, dir string, t *TLS) (*tls.Config, error) {
	p, err := collect(name, nil)
	if err != nil {
		return nil, err
	}
	b := &builder{cfg: Config{Name: name, Origin: "schemaRegistry", Dir: dir, TLS: t}, p: p}
	return b.tlsConfig()
}

// roots returns the trusted certificates; nil are the system's.
func (b *builder) roots() (*x509.CertPool, error) {
	if t := b.cfg.TLS; t != nil && t.CA != "" {
		data, err := readOrInline(b.cfg.Dir, t.CA)
		if err != nil {
			return nil, b.usage("tls.ca", "%w", err)
		}
		return b.pool(data, "", func(err error) error {
			if !isPEM(t.CA) {
				err = fmt.Errorf("%s: %w", resolve(b.cfg.Dir, t.CA), err)
			}
			return b.usage("tls.ca", "%w", err)
		})
	}
	if err := b.storeType("ssl.truststore.type"); err != nil {
		return nil, err
	}
	key, x := b.p.foremost("ssl.truststore.certificates", "ssl.truststore.location", "ssl.ca.location")
	switch {
	case key == "", key == "ssl.ca.location" && x.Value.Reveal() == "probe":
		return nil, nil
	case key == "ssl.truststore.certificates":
		return b.pool([]byte(x.Value.Reveal()), "", func(err error) error { return b.p.wrong(x, "%w", err) })
	}
	data, err := readFileOrDir(resolve(x.Dir, x.Value.Reveal()))
	if err != nil {
		return nil, b.p.wrong(x, "%w", err)
	}
	return b.pool(data, b.p.text("ssl.truststore.password"), func(err error) error {
		return secretHint(b.p.wrong(x, "%s: %w", x.Value.Reveal(), err), "ssl.truststore.password", "")
	})
}

// secretHint says which setting holds the password that is missing or wrong, if
// that is what is wrong: of the store, or of the key in it.
func secretHint(f *fault.Error, store, key string) *fault.Error {
	switch {
	case errors.Is(f, errStorePassword):
		return f.WithHint("set %s", store)
	case errors.Is(f, errPassphrase):
		return f.WithHint("set %s", key)
	}
	return f
}

func (b *builder) pool(data []byte, password string, wrong func(error) error) (*x509.CertPool, error) {
	certs, err := trustedFromStore(data, password)
	if err != nil {
		return nil, wrong(err)
	}
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool, nil
}

// readFileOrDir reads a file, or the PEM files of a directory one after the
// other.
func readFileOrDir(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return readFile(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, errors.New(fileTrouble(err))
	}
	var all []byte
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(path, e.Name()))
		if err != nil || !isPEM(string(data)) {
			continue // a directory of authorities also holds links and indexes
		}
		all = append(append(all, data...), '\n')
	}
	if len(all) == 0 {
		return nil, errors.New(path + ": there is no certificate in this directory")
	}
	return all, nil
}

func (b *builder) storeType(key string) error {
	_, err := b.p.choice(key, "JKS", "PKCS12", "PEM")
	return err
}

// identity returns the client certificate, or nil when none is configured.
func (b *builder) identity() (*tls.Certificate, error) {
	if t := b.cfg.TLS; t != nil && (t.Cert != "" || t.Key != "") {
		return b.explicitIdentity(t)
	}
	if err := b.storeType("ssl.keystore.type"); err != nil {
		return nil, err
	}
	keyPassword := b.p.text("ssl.key.password")
	if t := b.cfg.TLS; t != nil && t.KeyPassword != "" {
		keyPassword = t.KeyPassword.Reveal()
	}
	if key, x := b.p.foremost("ssl.keystore.location", "ssl.keystore.certificate.chain", "ssl.certificate.location",
		"ssl.keystore.key", "ssl.key.location"); key == "ssl.keystore.location" {
		data, err := readFile(resolve(x.Dir, x.Value.Reveal()))
		if err != nil {
			return nil, b.p.wrong(x, "%w", err)
		}
		id, err := identityFromStore(data, b.p.text("ssl.keystore.password"), keyPassword)
		if err != nil {
			return nil, secretHint(b.p.wrong(x, "%s: %w", x.Value.Reveal(), err), "ssl.keystore.password", "ssl.key.password")
		}
		return id, nil
	}
	return b.pemIdentity(keyPassword)
}

func (b *builder) explicitIdentity(t *TLS) (*tls.Certificate, error) {
	if t.Cert == "" {
		return nil, b.usage("tls.cert", "missing, tls.key alone identifies nobody")
	}
	certs, err := readOrInline(b.cfg.Dir, t.Cert)
	if err != nil {
		return nil, b.usage("tls.cert", "%w", err)
	}
	key := certs // one file may hold both
	if t.Key != "" {
		if key, err = readOrInline(b.cfg.Dir, t.Key.Reveal()); err != nil {
			return nil, b.usage("tls.key", "%w", err)
		}
	}
	id, err := identityFromPEM(certs, key, first(t.KeyPassword.Reveal(), b.p.text("ssl.key.password")))
	if err != nil {
		field, value := "tls.cert", t.Cert
		if t.Key != "" {
			field, value = "tls.key", t.Key.Reveal()
		}
		if isPEM(value) {
			return nil, secretHint(b.usage(field, "%w", err), "", "tls.keyPassword")
		}
		return nil, secretHint(b.usage(field, "%s: %w", resolve(b.cfg.Dir, value), err), "", "tls.keyPassword")
	}
	return id, nil
}

// pemIdentity takes certificate and key as PEM text or files of their own.
func (b *builder) pemIdentity(keyPassword string) (*tls.Certificate, error) {
	cert, certSet, err := b.pemProperty("ssl.keystore.certificate.chain", "ssl.certificate.location")
	if err != nil {
		return nil, err
	}
	key, keySet, err := b.pemProperty("ssl.keystore.key", "ssl.key.location")
	if err != nil {
		return nil, err
	}
	switch {
	case cert == nil && key == nil:
		return nil, nil
	case cert == nil:
		return nil, b.p.wrong(keySet, "a private key needs its certificate: ssl.keystore.certificate.chain or ssl.certificate.location")
	case key == nil:
		return nil, b.p.wrong(certSet, "a certificate needs its private key: ssl.keystore.key or ssl.key.location")
	}
	id, err := identityFromPEM(cert, key, keyPassword)
	if err != nil {
		if !isPEM(keySet.Value.Reveal()) {
			err = fmt.Errorf("%s: %w", resolve(keySet.Dir, keySet.Value.Reveal()), err)
		}
		return nil, secretHint(b.p.wrong(keySet, "%w", err), "", "ssl.key.password")
	}
	return id, nil
}

func (b *builder) pemProperty(text, location string) ([]byte, Property, error) {
	key, x := b.p.foremost(text, location)
	switch key {
	case "":
		return nil, x, nil
	case text:
		return []byte(x.Value.Reveal()), x, nil
	}
	data, err := readFile(resolve(x.Dir, x.Value.Reveal()))
	if err != nil {
		return nil, x, b.p.wrong(x, "%w", err)
	}
	return data, x, nil
}

var tlsVersions = map[string]uint16{
	"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13,
}

// versions takes ssl.protocol, an upper bound, and ssl.enabled.protocols.
func (b *builder) versions(c *tls.Config) error {
	proto, err := b.p.choice("ssl.protocol", "TLS", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
	if err != nil {
		return err
	}
	if v, ok := tlsVersions[proto]; ok && v < tls.VersionTLS13 {
		c.MaxVersion, c.MinVersion = v, min(c.MinVersion, v)
	}
	x, ok := b.p.get("ssl.enabled.protocols")
	if !ok {
		return nil
	}
	var list []uint16
	for _, w := range splitList(x.Value.Reveal()) {
		v, ok := tlsVersions[w]
		if !ok {
			return b.p.wrong(x, "%q is none of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3", w)
		}
		list = append(list, v)
	}
	lo, hi := slices.Min(list), slices.Max(list)
	for v := lo; v <= hi; v++ {
		if !slices.Contains(list, v) {
			return b.p.wrong(x, "the versions must follow each other without a hole")
		}
	}
	c.MinVersion = lo
	if c.MaxVersion == 0 || hi < c.MaxVersion {
		c.MaxVersion = hi
	}
	if c.MinVersion > c.MaxVersion {
		return b.p.wrong(x, "leaves no version that ssl.protocol allows")
	}
	return nil
}

// splitList cuts at commas and blanks and drops empty parts.
func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}
