package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
)

// ciphers takes ssl.cipher.suites. Go cannot be told which suites of TLS 1.3 to
// offer, so that the list is returned and held against what was negotiated; nil
// allows all.
func (b *builder) ciphers(c *tls.Config) (map[uint16]bool, error) {
	x, ok := b.p.get("ssl.cipher.suites")
	if !ok {
		return nil, nil
	}
	known := map[string]*tls.CipherSuite{}
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		known[s.Name] = s
		known[opensslName(s.Name)] = s
		known[strings.TrimSuffix(s.Name, "_SHA256")] = s // "…POLY1305" without its hash is an alias in use
	}
	allowed := map[uint16]bool{}
	new12, new13 := false, false
	for _, name := range strings.FieldsFunc(x.Value.Reveal(), func(r rune) bool { return strings.ContainsRune(",: \t", r) }) {
		s, ok := known[name]
		if !ok {
			return nil, b.p.wrong(x, "cipher suite %q is not supported", name).
				WithHint("name suites one by one, such as TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384")
		}
		allowed[s.ID] = true
		if s.SupportedVersions[0] == tls.VersionTLS13 {
			new13 = true
			continue
		}
		new12 = true
		c.CipherSuites = append(c.CipherSuites, s.ID)
	}
	switch {
	case !new13 && c.MinVersion <= tls.VersionTLS12:
		c.MaxVersion = tls.VersionTLS12
	case !new12:
		c.MinVersion = tls.VersionTLS13
	}
	if !new13 && c.MinVersion > tls.VersionTLS12 || c.MaxVersion != 0 && c.MinVersion > c.MaxVersion {
		return nil, b.p.wrong(x, "none of these suites belongs to an enabled TLS version")
	}
	return allowed, nil
}

// opensslName is OpenSSL's spelling of a suite of TLS 1.2 or older.
func opensslName(iana string) string {
	s := strings.TrimPrefix(iana, "TLS_")
	if !strings.Contains(s, "_WITH_") {
		return iana
	}
	kx, rest, _ := strings.Cut(s, "_WITH_")
	rest = strings.TrimSuffix(rest, "_CBC_SHA")
	sha := ""
	if len(s)-len(kx)-len("_WITH_") != len(rest) {
		sha = "-SHA"
	}
	rest = strings.ReplaceAll(strings.ReplaceAll(rest, "AES_128", "AES128"), "AES_256", "AES256")
	rest = strings.ReplaceAll(rest, "_CBC", "")
	if strings.HasPrefix(rest, "CHACHA20") {
		rest = strings.TrimSuffix(rest, "_SHA256")
	}
	if kx == "RSA" {
		kx = ""
	} else {
		kx += "-"
	}
	return strings.ReplaceAll(kx+rest, "_", "-") + sha
}

// verification decides how the server's certificate is checked.
func (b *builder) verification(c *tls.Config, allowed map[uint16]bool) error {
	verify, err := b.p.boolean("enable.ssl.certificate.verification", true)
	if err != nil {
		return err
	}
	hostless := false
	if x, ok := b.p.m["ssl.endpoint.identification.algorithm"]; ok {
		switch strings.ToLower(strings.TrimSpace(x.Value.Reveal())) {
		case "", "none":
			hostless = true
		case "https":
		default:
			return b.p.wrong(x, "%q is neither https nor empty", x.Value.Reveal())
		}
	}
	if t := b.cfg.TLS; t != nil {
		c.ServerName = t.ServerName
		if t.InsecureSkipVerify != nil {
			verify = !*t.InsecureSkipVerify
		}
		hostless = hostless && t.ServerName == ""
	}
	c.InsecureSkipVerify = !verify || hostless //nolint:gosec // asked for; the chain is checked below unless that is off too
	c.VerifyConnection = func(cs tls.ConnectionState) error {
		if allowed != nil && !allowed[cs.CipherSuite] {
			return fmt.Errorf("the broker chose cipher suite %s, which ssl.cipher.suites does not allow", tls.CipherSuiteName(cs.CipherSuite))
		}
		if !verify || !hostless {
			return nil
		}
		return verifyChain(cs, c.RootCAs)
	}
	return nil
}

// verifyChain checks everything about a server's certificate but its host name.
func verifyChain(cs tls.ConnectionState, roots *x509.CertPool) error {
	opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range cs.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	_, err := cs.PeerCertificates[0].Verify(opts)
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: cs.PeerCertificates, Err: err}
	}
	return nil
}
