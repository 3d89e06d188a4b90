package cluster

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/fault"
)

// builder turns one Config into the parts of a Cluster.
type builder struct {
	cfg Config
	p   *props
}

// usage makes an error about the explicit settings of the cluster. It says where
// the field stands, or else what holds it.
func (b *builder) usage(field, format string, args ...any) *fault.Error {
	section, _, _ := strings.Cut(field, ".")
	at := first(b.cfg.Places[field], b.cfg.Places[section], b.cfg.Origin)
	if at != "" {
		at = " (" + at + ")"
	}
	return fault.New(fault.Usage, "%s: %s%s: "+format, append([]any{b.cfg.Name, field, at}, args...)...).On(b.cfg.Name)
}

// protocol says whether TLS and SASL are on. Explicit settings win over
// security.protocol, which is PLAINTEXT when it is not set.
func (b *builder) protocol() (useTLS, useSASL bool, err error) {
	proto, err := b.p.choice("security.protocol", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
	if err != nil {
		return false, false, err
	}
	useTLS = b.cfg.TLS != nil || strings.HasSuffix(proto, "SSL")
	useSASL = b.cfg.SASL != nil || strings.HasPrefix(proto, "SASL_")
	if proto == "" {
		if err := b.dangling(useTLS, useSASL); err != nil {
			return false, false, err
		}
	}
	return useTLS, useSASL, nil
}

// dangling refuses credentials that would have no effect: without
// security.protocol a client would silently go without them.
func (b *builder) dangling(useTLS, useSASL bool) error {
	if !useSASL {
		for _, k := range []string{"sasl.mechanism", "sasl.jaas.config", "sasl.username", "sasl.oauthbearer.token.endpoint.url"} {
			if x, ok := b.p.get(k); ok {
				return b.p.wrong(x, "has no effect without security.protocol").
					WithHint("security.protocol=SASL_SSL, or SASL_PLAINTEXT where the brokers do not use TLS")
			}
		}
	}
	if !useTLS {
		for _, k := range []string{
			"ssl.truststore.location", "ssl.truststore.certificates", "ssl.ca.location",
			"ssl.keystore.location", "ssl.keystore.key", "ssl.certificate.location", "ssl.key.location",
		} {
			if x, ok := b.p.get(k); ok {
				return b.p.wrong(x, "has no effect without security.protocol").
					WithHint("security.protocol=SSL, or SASL_SSL with SASL")
			}
		}
	}
	return nil
}

// resolve makes a path relative to dir; empty stays empty.
func resolve(dir, path string) string {
	if path == "" || dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// readOrInline returns PEM text that stands in value, or the file that it names.
func readOrInline(dir, value string) ([]byte, error) {
	if isPEM(value) {
		return []byte(value), nil
	}
	return readFile(resolve(dir, value))
}

// readFile reads a file; its error names the path and no system call.
func readFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.New(fileTrouble(err))
	}
	return data, nil
}

func asPathError(err error) (*fs.PathError, bool) { return errors.AsType[*fs.PathError](err) }

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || len(s) > n && unicode.IsUpper(rune(s[n])) {
		return s // an abbreviation keeps its capitals
	}
	return string(unicode.ToLower(r)) + s[n:]
}
