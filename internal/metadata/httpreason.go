package metadata

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/kcm-cli/kcm/internal/fault"
)

var (
	errRedirects = errors.New("too many redirects")
	errElsewhere = errors.New("it redirects to an address that is neither http nor https")
)

// httpFault tells in own words why a request failed. It names hosts but never
// repeats an address, which may hold secrets. What the network did is
// fault.Unreachable: the same command may succeed later.
func httpFault(name, host string, err error) error {
	for _, wrongUse := range []error{errRedirects, errElsewhere, errTooLarge} {
		if errors.Is(err, wrongUse) {
			if wrongUse == errTooLarge {
				wrongUse = err // of readAll, with the limit
			}
			return unreadable(name, wrongUse)
		}
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		if u, perr := url.Parse(e.URL); perr == nil && u.Host != "" {
			host = u.Host // a redirect leads to other hosts
		}
	}
	why, hint := networkReason(host, err)
	return unreachable(name, why).WithHint("%s", hint)
}

func unreachable(name, why string) *fault.Error {
	return fault.New(fault.Unreachable, "metadata source %s: %s", name, why)
}

func networkReason(host string, err error) (why, hint string) {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "proxyconnect" {
		host = "the proxy for " + host
	}
	if why, hint := tlsReason(host, err); why != "" {
		return why, hint
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		if e.IsNotFound {
			return "no host of the name " + e.Name + " is known", ""
		}
		return "the name " + e.Name + " cannot be looked up", ""
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return "no answer in time", ""
	}
	errno, isErrno := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return host + " refuses the connection", ""
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF):
		return host + " closed the connection without an answer", ""
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the answer of " + host + " breaks off", ""
	case isErrno:
		return host + " cannot be reached: " + errno.Error(), ""
	}
	return "the answer of " + host + " cannot be understood", ""
}

// tlsReason explains an error of TLS; "" for any other.
func tlsReason(host string, err error) (why, hint string) {
	const roots = "SSL_CERT_FILE names a file with the authorities to trust"
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		names := slices.Clone(e.Certificate.DNSNames)
		for _, ip := range e.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		if len(names) == 0 {
			return "the certificate of " + host + " names no host", ""
		}
		return "the certificate of " + host + " is for " + strings.Join(names[:min(len(names), 5)], ", "), ""
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "the certificate of " + host + " has expired or is not valid yet", ""
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the certificate of " + host + " is signed by an authority that is not trusted", roots
	}
	if _, ok := errors.AsType[x509.SystemRootsError](err); ok {
		return "the system's authorities cannot be read", roots
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the certificate of " + host + " is not accepted", ""
	}
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	switch {
	case record, errors.Is(err, http.ErrSchemeMismatch):
		return host + " does not speak TLS", "an address without TLS begins with http://"
	case alert, strings.Contains(err.Error(), "tls: "):
		return "the TLS handshake with " + host + " fails", ""
	}
	return "", ""
}
