package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

var errStorePassword = errors.New("the store's password is missing or wrong")

// jksMagic begins every JKS file.
var jksMagic = []byte{0xfe, 0xed, 0xfe, 0xed}

// trustedFromStore returns the certificates of a trust store. JKS, PKCS12 and
// PEM are told apart by content, as Java does for the first two. A JKS file may
// be read without its password, which only guards it against changes.
func trustedFromStore(data []byte, password string) ([]*x509.Certificate, error) {
	switch {
	case isPEM(string(data)):
		return parseCertificates(data)
	case bytes.HasPrefix(data, jksMagic):
		return trustedFromJKS(data, password)
	}
	certs, err := pkcs12.DecodeTrustStore(data, password)
	if errors.Is(err, pkcs12.ErrIncorrectPassword) {
		return nil, errStorePassword
	}
	if err != nil {
		certs, err = anyFromPKCS12(data, password)
	}
	return nonEmpty(certs, err)
}

// anyFromPKCS12 takes the certificates of a file that was not made for trust, a
// key store.
func anyFromPKCS12(data []byte, password string) ([]*x509.Certificate, error) {
	//nolint:staticcheck // SA1019: nothing else reads certificates without a key and without Java's mark
	blocks, err := pkcs12.ToPEM(data, password)
	if err != nil {
		return nil, notAStore(err, password)
	}
	var text []byte
	for _, b := range blocks {
		if b.Type == "CERTIFICATE" {
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: b.Type, Bytes: b.Bytes})...)
		}
	}
	return parseCertificates(text)
}

func nonEmpty(certs []*x509.Certificate, err error) ([]*x509.Certificate, error) {
	if err == nil && len(certs) == 0 {
		return nil, errors.New("there is no certificate in it")
	}
	return certs, err
}

func notAStore(err error, password string) error {
	if errors.Is(err, pkcs12.ErrIncorrectPassword) || password == "" && errors.Is(err, pkcs12.ErrDecryption) {
		return errStorePassword
	}
	if _, ok := errors.AsType[pkcs12.NotImplementedError](err); ok {
		return errors.New("a PKCS12 file in which Java would trust nothing (keytool -importcert makes one that it does)")
	}
	return errors.New("neither a JKS, a PKCS12 nor a PEM file")
}

func loadJKS(data []byte, password string) (keystore.KeyStore, error) {
	ks := keystore.New(keystore.WithOrderedAliases())
	err := ks.Load(bytes.NewReader(data), []byte(password))
	// Without a password all entries are there and only the digest is wrong.
	if err != nil && (err.Error() != "got invalid digest" || password != "") {
		if err.Error() == "got invalid digest" {
			return ks, errStorePassword
		}
		return ks, errors.New("the JKS file is damaged")
	}
	return ks, nil
}

func trustedFromJKS(data []byte, password string) ([]*x509.Certificate, error) {
	ks, err := loadJKS(data, password)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for _, alias := range ks.Aliases() {
		var der []byte
		if e, err := ks.GetTrustedCertificateEntry(alias); err == nil {
			der = e.Certificate.Content
		} else if chain, err := ks.GetPrivateKeyEntryCertificateChain(alias); err == nil && len(chain) > 0 {
			der = chain[0].Content // Java trusts the leaf of a key entry
		} else {
			continue
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, errors.New("a certificate in it is damaged")
		}
		out = append(out, c)
	}
	return nonEmpty(out, nil)
}

// identityFromStore returns the key and chain of a key store. The key's own
// passphrase falls back to the store's password.
func identityFromStore(data []byte, password, keyPassword string) (*tls.Certificate, error) {
	if keyPassword == "" {
		keyPassword = password
	}
	switch {
	case isPEM(string(data)):
		return identityFromPEM(data, data, keyPassword)
	case bytes.HasPrefix(data, jksMagic):
		return identityFromJKS(data, password, keyPassword)
	}
	key, leaf, rest, err := pkcs12.DecodeChain(data, password)
	if err != nil {
		if msg := err.Error(); slices.Contains([]string{"pkcs12: certificate missing", "pkcs12: private key missing", "pkcs12: expected exactly one key bag"}, msg) {
			return nil, errors.New("the store needs exactly one private key with its certificate")
		}
		return nil, notAStore(err, password)
	}
	return newIdentity(orderChain(leaf, rest), key)
}

// orderChain puts the certificates behind leaf in the order in which they sign
// each other; PKCS12 keeps them in any order.
func orderChain(leaf *x509.Certificate, rest []*x509.Certificate) []*x509.Certificate {
	chain := []*x509.Certificate{leaf}
	for cur := leaf; ; {
		i := slices.IndexFunc(rest, func(c *x509.Certificate) bool {
			return bytes.Equal(c.RawSubject, cur.RawIssuer) && !slices.Contains(chain, c)
		})
		if i < 0 {
			return chain
		}
		cur = rest[i]
		chain = append(chain, cur)
	}
}

func identityFromPEM(certs, key []byte, passphrase string) (*tls.Certificate, error) {
	chain, err := parseCertificates(certs)
	if err != nil {
		return nil, err
	}
	k, err := parseKey(key, passphrase)
	if err != nil {
		return nil, err
	}
	return newIdentity(chain, k)
}

func identityFromJKS(data []byte, password, keyPassword string) (*tls.Certificate, error) {
	if password == "" {
		return nil, errStorePassword
	}
	ks, err := loadJKS(data, password)
	if err != nil {
		return nil, err
	}
	for _, alias := range ks.Aliases() {
		if !ks.IsPrivateKeyEntry(alias) {
			continue
		}
		e, err := ks.GetPrivateKeyEntry(alias, []byte(keyPassword))
		if err != nil {
			return nil, errPassphrase
		}
		key, err := x509.ParsePKCS8PrivateKey(e.PrivateKey)
		if err != nil {
			return nil, errors.New("the private key in it is damaged or of an unknown kind")
		}
		var chain []*x509.Certificate
		for _, c := range e.CertificateChain {
			x, err := x509.ParseCertificate(c.Content)
			if err != nil {
				return nil, errors.New("a certificate in it is damaged")
			}
			chain = append(chain, x)
		}
		if len(chain) == 0 {
			return nil, errors.New("the private key in it has no certificate")
		}
		return newIdentity(chain, key)
	}
	return nil, errors.New("there is no private key in it")
}
