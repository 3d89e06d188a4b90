package registry

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/fault"
)

// ErrNotFound is in the chain of errors for what a registry does not have.
var ErrNotFound = errors.New("not in the registry")

// ErrReference is in the chain of errors for what a schema that is there refers
// to; ErrNotFound is there as well.
var ErrReference = errors.New("a reference is not in the registry")

// ErrNoLookup is in the chain of errors for a kind of question that a registry
// does not know. It does answer; whether it has what was asked for is not known.
var ErrNoLookup = errors.New("no such look-up")

var (
	errRedirects = errors.New("too many redirects")
	errElsewhere = errors.New("it redirects to an address that is neither http nor https")
	errCompile   = errors.New("does not compile")
)

// passing marks an error that says nothing of what was asked for: the registry
// is in trouble, and the same question may be answered later.
type passing struct{ after time.Duration } // the registry wants no question before that

// Error is never shown: the sentence around it is.
func (p *passing) Error() string { return "the registry is in trouble" }

// failure is why one address gave no answer.
type failure struct {
	at, why string
	lasting bool          // it will give none if it is asked again
	after   time.Duration // as the answer asked for
}

func (f *failure) Error() string { return f.at + ": " + f.why }

// refusal is an answer that is an error.
type refusal struct {
	about, at    string
	status, code int // of HTTP, and of the registry (five digits; 0 if it gave none)
	message      string
}

func (r *refusal) Error() string { return r.about + ": " + r.words() }

// words gives the status and the registry's message, which says more than the
// standard text.
func (r *refusal) words() string {
	text := r.message
	if text == "" {
		text = http.StatusText(r.status)
	}
	return strings.TrimSpace(strconv.Itoa(r.status) + " " + text)
}

// lacking is the answer of a registry that does not know the path of a question.
func (c *Client) lacking(q question) error {
	err := fault.New(fault.Failed, "%s %s", c.name, q.unusual)
	err.Err = ErrNoLookup
	return err
}

// refused is the error for credentials that are not accepted.
func (c *Client) refused(r *refusal, q question) error {
	switch {
	case r.status == http.StatusUnauthorized:
		return fault.New(fault.Auth, "%s refuses %s (401)", c.name, c.login.who())
	case q.registers != "":
		return fault.New(fault.Auth, "%s forbids %s to register a version of subject %s (403)", c.name, c.login.who(), oneLine(q.registers))
	}
	return fault.New(fault.Auth, "%s forbids %s access to %s (403)", c.name, c.login.who(), r.about)
}

// sentence makes what a user reads of a refusal; other errors stay as they are.
func (c *Client) sentence(err error) error {
	r, ok := errors.AsType[*refusal](err)
	switch {
	case !ok:
		return err
	case r.status == http.StatusNotFound:
		e := fault.New(fault.Failed, "%s is not in %s (%s)", r.about, c.name, r.at)
		e.Err = ErrNotFound
		return e
	}
	return fault.New(fault.Failed, "%s answers %s for %s", c.name, r.words(), r.about)
}

// notRegistry says what an answer is that no registry gives.
func notRegistry(body []byte) string {
	const hint = "; does its address lack a path, such as /apis/ccompat/v7?"
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return "the answer is empty" + hint
	case bytes.Contains(body, []byte("HTTP request")) && bytes.Contains(body, []byte("HTTPS")):
		return "it speaks TLS: its address begins with https://" // in the words of Go and nginx
	case body[0] == '<':
		return "the answer is a web page" + hint
	case body[0] == '{', body[0] == '[':
		return "the answer is not a schema registry's" + hint
	}
	return "the answer is not JSON" + hint
}

// oneLine makes a short line of a registry's message.
func oneLine(text string) string {
	const most = 200
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError
	}), " ")
	if len(text) <= most {
		return text
	}
	cut := most
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// networkFailure tells why no answer came, without repeating what was sent.
func networkFailure(at string, err error) *failure {
	f := &failure{at: at}
	if f.why = tlsReason(err); f.why != "" {
		f.lasting = true
		return f
	}
	for _, wrong := range []error{errRedirects, errElsewhere} {
		if errors.Is(err, wrong) {
			f.why, f.lasting = wrong.Error(), true
			return f
		}
	}
	f.why = reason(err)
	return f
}

func reason(err error) string {
	proxy := ""
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "proxyconnect" {
		proxy = "the proxy: "
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		if e.IsNotFound {
			return proxy + "no host of the name " + e.Name + " is known"
		}
		return proxy + "the name " + e.Name + " cannot be looked up"
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return proxy + "no answer in time"
	}
	errno, isErrno := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return proxy + "the connection is refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF):
		return proxy + "the connection was closed without an answer"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return proxy + "the answer breaks off"
	case isErrno:
		return proxy + errno.Error()
	case strings.Contains(err.Error(), `malformed HTTP response "\x15`): // an alert
		return proxy + "it speaks TLS: its address begins with https://"
	}
	return proxy + "the answer cannot be understood"
}

// tlsReason explains an error of TLS; "" for any other.
func tlsReason(err error) string {
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		names := append([]string(nil), e.Certificate.DNSNames...)
		for _, ip := range e.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		if len(names) == 0 {
			return "its certificate names no host"
		}
		return "its certificate is for " + strings.Join(names[:min(len(names), 5)], ", ")
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "its certificate has expired or is not valid yet"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is signed by an authority that is not trusted"
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && e != nil {
		return "its certificate is not accepted"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return "it does not speak TLS: an address without TLS begins with http://"
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "remote error" { // an alert of the other side
		return "the TLS handshake fails (" + strings.TrimPrefix(e.Err.Error(), "tls: ") + ")"
	}
	if strings.Contains(err.Error(), "tls: ") {
		return "the TLS handshake fails"
	}
	return ""
}
