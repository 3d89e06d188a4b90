package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// sentences makes the errors about one cluster's addresses: what was found, and
// what to do about it.
type sentences struct {
	cluster  string
	identity bool // a client certificate is configured
	redact   func(string) string
}

// errSilent is the cause of findings that a slow cluster could explain too.
var errSilent = errors.New("no answer")

func (s sentences) fault(k fault.Kind, cause error, format string, args ...any) *fault.Error {
	f := fault.New(k, "%s: %s", s.cluster, s.redact(fmt.Sprintf(format, args...))).On(s.cluster)
	f.Err = cause
	return f
}

func (s sentences) unreachable(cause error, format string, args ...any) *fault.Error {
	return s.fault(fault.Unreachable, cause, format, args...)
}

// dial explains why there is no TCP connection.
func (s sentences) dial(addr string, err error) *fault.Error {
	what, hint := dialTrouble(addr, err)
	return s.unreachable(err, "%s %s", addr, what).WithHint("%s", hint)
}

// dialTrouble is the predicate about an address that cannot be connected to,
// and the hint.
func dialTrouble(addr string, err error) (what, hint string) {
	if de, ok := errors.AsType[*net.DNSError](err); ok {
		if de.IsNotFound {
			return "cannot be reached: its host name does not resolve", "check the spelling, and whether this machine asks the right name server"
		}
		return "cannot be reached: the name server does not answer", "check the network and the name server of this machine"
	}
	switch {
	case errors.Is(err, errRefused):
		return "refuses the connection", "is a broker running there, and is " + portOf(addr) + " the port of its listener"
	case errors.Is(err, errNoRoute), errors.Is(err, errNoNetwork):
		return "cannot be reached: there is no route to it", "check the network, the address, the VPN"
	case isTimeout(err):
		return "cannot be reached: the connection attempt is not answered", "a firewall, a wrong address or a VPN that is off"
	}
	if oe, ok := errors.AsType[*net.OpError](err); ok && oe.Err != nil {
		return "cannot be reached: " + lowerFirst(oe.Err.Error()), "check the address"
	}
	return "cannot be reached: " + err.Error(), "check the address"
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

func (s sentences) tlsPort(addr string, sasl bool) *fault.Error {
	proto := "SSL"
	if sasl {
		proto = "SASL_SSL"
	}
	return s.unreachable(nil, "%s looks like a TLS listener, but TLS is off", addr).
		WithHint(`switch it on with "tls: {}" or -X security.protocol=%s`, proto)
}

func (s sentences) plainPort(addr string) *fault.Error {
	return s.unreachable(nil, "%s speaks Kafka without TLS, but TLS is on", addr).
		WithHint("use the port of the TLS listener, or take out tls and security.protocol")
}

func (s sentences) http(addr string) *fault.Error {
	return s.unreachable(nil, "%s answers HTTP, not Kafka", addr).
		WithHint("bootstrap takes the brokers' own port, not that of a console, a REST proxy or a registry")
}

func (s sentences) notKafka(addr string) *fault.Error {
	return s.unreachable(nil, "%s answers something that is not Kafka", addr).
		WithHint("is %s the port of a broker's listener", portOf(addr))
}

func (s sentences) silent(addr string) *fault.Error {
	return s.unreachable(errSilent, "%s accepts the connection but never answers", addr).
		WithHint("is it a broker's listener; the broker may be overloaded, or a proxy have nothing behind it")
}

func (s sentences) closes(addr string, withTLS, withSASL bool) *fault.Error {
	hint := "the listener may want TLS or SASL, or a proxy has no broker behind it"
	if withTLS {
		hint = "the listener may want a client certificate or no TLS, or a proxy has no broker behind it"
	}
	if withSASL && !withTLS {
		hint = "the listener may want TLS, or a proxy has no broker behind it"
	}
	return s.unreachable(nil, "%s accepts the connection and closes it at once", addr).WithHint("%s", hint)
}

func (s sentences) brokeOff(addr string, err error) *fault.Error {
	if isTimeout(err) {
		return s.silent(addr)
	}
	return s.unreachable(err, "%s closed the connection in the middle of a conversation", addr).
		WithHint("the broker may be starting or stopping; its log says more")
}

func (s sentences) handshake(addr string, err error) *fault.Error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "remote error: "), "tls: ")
	hint := "broker and kcm find no common TLS version or cipher suite"
	if !strings.Contains(text, "handshake failure") && !strings.Contains(text, "protocol version") {
		hint = "the broker's log says more"
	}
	return s.unreachable(err, "the TLS handshake with %s fails: %s", addr, text).WithHint("%s", hint)
}

// certificate explains an error about certificates, ours or theirs; nil when it
// is about something else.
func (s sentences) certificate(addr string, err error) error {
	if f := s.clientCertificate(addr, err); f != nil {
		return f
	}
	host, _, _ := net.SplitHostPort(addr)
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		names := append([]string(nil), e.Certificate.DNSNames...)
		for _, ip := range e.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		if len(names) == 0 {
			return s.unreachable(err, "the certificate of %s has no subject alternative names, so that it is for no host, %s included", addr, first(e.Host, host)).
				WithHint("the broker needs a certificate with its host name among them; ssl.endpoint.identification.algorithm= (empty) leaves out the check of the name")
		}
		return s.unreachable(err, "the certificate of %s is not for %s but for %s", addr, first(e.Host, host), strings.Join(names[:min(len(names), 5)], ", ")).
			WithHint("use a name of the certificate in bootstrap, or set tls.serverName to one")
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return s.invalidCertificate(addr, e)
	}
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		issuer := "an unknown authority"
		if e.Cert != nil && e.Cert.Issuer.String() != "" {
			issuer = "an authority that is not trusted, " + e.Cert.Issuer.String()
		}
		return s.unreachable(err, "the certificate of %s is signed by %s", addr, issuer).
			WithHint("set tls.ca (ssl.truststore.location, ssl.ca.location) to that authority's certificate")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return s.unreachable(err, "the certificate of %s is not accepted: %s", addr, strings.TrimPrefix(err.Error(), "tls: ")).
			WithHint("openssl s_client -connect %s shows it", addr)
	}
	return nil
}

func (s sentences) invalidCertificate(addr string, e x509.CertificateInvalidError) *fault.Error {
	if e.Reason != x509.Expired || e.Cert == nil {
		return s.unreachable(e, "the certificate of %s is not valid: %s", addr, strings.TrimPrefix(e.Error(), "x509: ")).
			WithHint("openssl s_client -connect %s shows it", addr)
	}
	day := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
	if time.Now().Before(e.Cert.NotBefore) {
		return s.unreachable(e, "the certificate of %s is not valid before %s", addr, day(e.Cert.NotBefore)).
			WithHint("is the clock of this machine right")
	}
	return s.unreachable(e, "the certificate of %s has expired on %s", addr, day(e.Cert.NotAfter)).
		WithHint("the broker needs a new certificate")
}

func isRemoteAlert(err error) bool {
	oe, ok := errors.AsType[*net.OpError](err)
	return ok && oe.Op == "remote error"
}

// clientCertificate explains an alert by which a broker asks for a certificate
// or refuses ours; crypto/tls has no exported type for received alerts.
func (s sentences) clientCertificate(addr string, err error) error {
	if !isRemoteAlert(err) {
		return nil
	}
	text := err.Error()
	_, text, _ = strings.Cut(text, "tls: ")
	switch text {
	case "certificate required", "bad certificate", "unknown certificate", "unsupported certificate",
		"expired certificate", "revoked certificate", "unknown certificate authority", "access denied":
	default:
		return nil
	}
	if !s.identity || text == "certificate required" {
		return s.certificateWanted(addr, err)
	}
	return s.fault(fault.Auth, err, "%s refuses the client certificate: %s", addr, text).
		WithHint("the broker must trust the authority that signed it, and it must not have expired")
}

func (s sentences) certificateWanted(addr string, err error) *fault.Error {
	return s.fault(fault.Auth, err, "%s requires a client certificate", addr).
		WithHint("set tls.cert and tls.key, or ssl.keystore.location")
}

// mechanism: the broker does not offer what is configured.
func (s sentences) mechanism(addr, ours string, offered []string) *fault.Error {
	return s.fault(fault.Auth, nil, "%s does not offer SASL %s, it offers %s", addr, ours, sorted(offered)).
		WithHint("set sasl.mechanism to one of these")
}

func sorted(names []string) string {
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

func (s sentences) saslWanted(addr string, offered []string) *fault.Error {
	return s.fault(fault.Auth, nil, "%s requires SASL (%s), but none is configured", addr, sorted(offered)).
		WithHint("sasl: {mechanism: …, username: …, password: …}, or -X security.protocol=SASL_PLAINTEXT|SASL_SSL and sasl.*")
}

func (s sentences) saslNotWanted(addr, ours string) *fault.Error {
	return s.fault(fault.Auth, nil, "%s does not use SASL, but SASL %s is configured", addr, ours).
		WithHint("take out sasl, or use the port of the SASL listener")
}

func (s sentences) refusedLogin(addr string, l *login, message string) *fault.Error {
	detail := ""
	if message = strings.TrimSuffix(strings.TrimSpace(message), "."); message != "" {
		detail = ": " + lowerFirst(message)
	}
	return s.fault(fault.Auth, nil, "%s refuses the login%s with %s%s", addr, asUser(l), l.Name(), detail).
		WithHint("check user and password")
}

func (s sentences) loginBrokeOff(addr string, l *login, err error) *fault.Error {
	if isTimeout(err) {
		return s.silent(addr)
	}
	return s.fault(fault.Auth, err, "%s closed the connection during the login%s with %s", addr, asUser(l), l.Name()).
		WithHint("most often a wrong user or password; the broker's log says more")
}

// login explains an error that came up before a broker was asked.
func (s sentences) login(err error) *fault.Error {
	return s.fault(fault.Auth, err, "cannot log in with %s", strings.TrimPrefix(err.Error(), "tls: "))
}

func asUser(l *login) string {
	if l.user == "" {
		return ""
	}
	return fmt.Sprintf(" of %q", l.user)
}

// advertised: the entrance works, what it advertises does not. err is why there
// is no connection, or what the probe found at the other end of it.
func (s sentences) advertised(via string, b Broker, err error) *fault.Error {
	hint := "check advertised.listeners of the brokers, or use the listener that is meant for this network"
	if f, ok := errors.AsType[*fault.Error](err); ok {
		found := strings.TrimPrefix(f.Message, s.cluster+": ")
		what, ofAddress := strings.CutPrefix(found, b.Addr()+" ")
		if !ofAddress { // of its certificate
			return s.fault(f.Kind, f.Err, "connected to %s, but broker %d advertises %s: %s", via, b.ID, b.Addr(), found).
				WithHint("%s", f.Hint)
		}
		return s.fault(f.Kind, f.Err, "connected to %s, but broker %d advertises %s, which %s", via, b.ID, b.Addr(), what).WithHint("%s", hint)
	}
	what, _ := dialTrouble(b.Addr(), err)
	if errors.Is(err, errRefused) {
		hint = fmt.Sprintf("is broker %d running; if it is, %s", b.ID, hint)
	}
	return s.unreachable(err, "connected to %s, but broker %d advertises %s, which %s", via, b.ID, b.Addr(), what).WithHint("%s", hint)
}
