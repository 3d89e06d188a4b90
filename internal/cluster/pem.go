package cluster

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"regexp"
	"strings"

	"github.com/youmark/pkcs8"
)

// errPassphrase says that a key is encrypted and its passphrase missing or wrong.
var errPassphrase = errors.New("the passphrase is missing or wrong")

// pemBlock matches a PEM block whose line breaks a properties file may have
// taken away.
var pemBlock = regexp.MustCompile(`-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END ([A-Z0-9 ]+)-----`)

// wrapPEM gives PEM text its line breaks back: Java accepts blocks on a single
// line, with blanks or nothing where the breaks were.
func wrapPEM(text string) []byte {
	return []byte(pemBlock.ReplaceAllStringFunc(text, func(block string) string {
		m := pemBlock.FindStringSubmatch(block)
		if strings.Contains(m[2], ":") { // RFC 1421 headers need their own lines
			return block + "\n"
		}
		body := strings.Join(strings.Fields(m[2]), "")
		return "-----BEGIN " + m[1] + "-----\n" + body + "\n-----END " + m[3] + "-----\n"
	}))
}

// isPEM tells PEM text from a path or a binary store.
func isPEM(text string) bool { return strings.Contains(text, "-----BEGIN ") }

// parseCertificates returns the certificates in PEM text; none is an error.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for rest := wrapPEM(string(text)); ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b.Type != "CERTIFICATE" && b.Type != "TRUSTED CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, errors.New("a certificate in it is damaged")
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no certificate in it")
	}
	return out, nil
}

// parseKey returns the first private key in PEM text: PKCS#8, encrypted or not,
// PKCS#1, SEC 1, or OpenSSL's old encryption of these.
func parseKey(text []byte, passphrase string) (crypto.PrivateKey, error) {
	for rest := wrapPEM(string(text)); ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return nil, errors.New("there is no private key in it")
		}
		if strings.HasSuffix(b.Type, "PRIVATE KEY") {
			return parseKeyBlock(b, passphrase)
		}
	}
}

func parseKeyBlock(b *pem.Block, passphrase string) (crypto.PrivateKey, error) {
	der := b.Bytes
	if b.Type == "ENCRYPTED PRIVATE KEY" {
		if passphrase == "" {
			return nil, errPassphrase
		}
		key, err := pkcs8.ParsePKCS8PrivateKey(der, []byte(passphrase))
		if err != nil && !strings.Contains(err.Error(), "incorrect password") {
			return nil, errors.New("its encryption is not supported (" + strings.TrimPrefix(err.Error(), "pkcs8: ") + ")")
		}
		if err != nil {
			return nil, errPassphrase
		}
		return key, nil
	}
	//nolint:staticcheck // SA1019: weak, but what "openssl rsa -aes256" of version 1 wrote
	if x509.IsEncryptedPEMBlock(b) {
		var err error
		//nolint:staticcheck // SA1019: as above
		if der, err = x509.DecryptPEMBlock(b, []byte(passphrase)); err != nil {
			return nil, errPassphrase
		}
	}
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return nil, errors.New("the private key in it is damaged or of an unknown kind")
}

// newIdentity joins a chain, leaf first, and its key.
func newIdentity(chain []*x509.Certificate, key crypto.PrivateKey) (*tls.Certificate, error) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("the private key cannot sign")
	}
	pub, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !pub.Equal(chain[0].PublicKey) {
		return nil, errors.New("the private key does not belong to the first certificate")
	}
	c := &tls.Certificate{PrivateKey: key, Leaf: chain[0]}
	for _, x := range chain {
		c.Certificate = append(c.Certificate, x.Raw)
	}
	return c, nil
}
