package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/fault"
)

// The probe's own deadlines: together they stay below the five seconds in which
// a user is told what is wrong.
const (
	probeDial   = 3 * time.Second
	probeAnswer = 2 * time.Second
	probeAgain  = time.Second
)

// probe finds out for certain what an address does: it connects, shakes hands,
// asks for API versions, logs in and asks who the cluster is, each by itself.
// Where an answer has two explanations it looks a second time, the other way.
type probe struct {
	*dialer
	say   sentences
	login *login
	id    string // client.id
}

// run returns the cluster's own description, or a *fault.Error.
func (p *probe) run(ctx context.Context, addr string) (*kmsg.MetadataResponse, error) {
	conn, t, versions, err := p.begin(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if d, ok := ctx.Deadline(); ok { // a token endpoint may take longer than a broker's first answer
		_ = conn.SetDeadline(d)
	}
	if err := p.logIn(ctx, t, addr); err != nil {
		return nil, err
	}
	meta, err := t.brokers(versions)
	if err != nil {
		return nil, p.metadataFailed(ctx, addr, err)
	}
	return meta, nil
}

// begin connects, shakes hands and asks for API versions. Whoever gets the
// connection closes it.
func (p *probe) begin(ctx context.Context, addr string) (net.Conn, *talk, *kmsg.ApiVersionsResponse, error) {
	dctx, cancel := stage(ctx, probeDial)
	defer cancel()
	conn, err := p.tcp(dctx, addr)
	if err != nil {
		return nil, nil, nil, p.say.dial(addr, err)
	}
	actx, cancel2 := stage(ctx, probeAnswer)
	defer cancel2()
	if p.tls != nil {
		cfg, asked := p.watched(addr)
		tc := tls.Client(conn, cfg)
		if err := tc.HandshakeContext(actx); err != nil {
			_ = conn.Close()
			if asked.Load() && isRemoteAlert(err) {
				return nil, nil, nil, p.say.certificateWanted(addr, err)
			}
			return nil, nil, nil, p.handshakeFailed(ctx, addr, err)
		}
		conn = tc
	}
	t := newTalk(actx, conn, p.id)
	versions, err := t.versions()
	if err != nil {
		_ = conn.Close()
		return nil, nil, nil, p.versionsFailed(ctx, addr, err)
	}
	return conn, t, versions, nil
}

// watched returns the TLS settings for addr and whether the broker asked for a
// client certificate where there is none: up to TLS 1.2 some brokers answer the
// empty one with a plain "handshake failure".
func (p *probe) watched(addr string) (*tls.Config, *atomic.Bool) {
	cfg, asked := p.tlsFor(addr), new(atomic.Bool)
	if cfg.GetClientCertificate == nil {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked.Store(true)
			return new(tls.Certificate), nil
		}
	}
	return cfg, asked
}

// again opens a second connection, plain TCP.
func (p *probe) again(ctx context.Context, addr string, look func(context.Context, net.Conn) error) error {
	ctx, cancel := stage(ctx, probeAgain)
	defer cancel()
	conn, err := p.tcp(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	return look(ctx, conn)
}

// handshakeFailed explains why TLS did not come about: certificates speak for
// themselves; anything else may be a listener without TLS.
func (p *probe) handshakeFailed(ctx context.Context, addr string, err error) error {
	if f := p.say.certificate(addr, err); f != nil {
		return f
	}
	if rh, ok := errors.AsType[tls.RecordHeaderError](err); ok && (&foreignError{first: head(rh.RecordHeader[:])}).isHTTP() {
		return p.say.http(addr)
	}
	plain := p.again(ctx, addr, func(ctx context.Context, c net.Conn) error { return speaksKafka(ctx, c, p.id) })
	if plain == nil {
		return p.say.plainPort(addr)
	}
	if fe, ok := errors.AsType[*foreignError](plain); ok && fe.isHTTP() {
		return p.say.http(addr)
	}
	switch {
	case isTimeout(err):
		return p.say.silent(addr)
	case isClosed(err):
		return p.say.closes(addr, true, p.login != nil)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return p.say.notKafka(addr)
	}
	return p.say.handshake(addr, err)
}

// versionsFailed explains why the first answer is missing or strange. Over TLS
// the alert about a missing client certificate comes as late as here.
func (p *probe) versionsFailed(ctx context.Context, addr string, err error) error {
	if f := p.say.certificate(addr, err); f != nil {
		return f
	}
	if fe, ok := errors.AsType[*foreignError](err); ok {
		switch {
		case fe.isTLS() && p.tls == nil:
			return p.say.tlsPort(addr, p.login != nil)
		case fe.isHTTP():
			return p.say.http(addr)
		}
		return p.say.notKafka(addr)
	}
	if p.tls == nil && p.shakesHands(ctx, addr) {
		return p.say.tlsPort(addr, p.login != nil)
	}
	if isTimeout(err) {
		return p.say.silent(addr)
	}
	return p.say.closes(addr, p.tls != nil, p.login != nil)
}

// shakesHands reports whether the address answers a TLS hello with TLS.
func (p *probe) shakesHands(ctx context.Context, addr string) bool {
	err := p.again(ctx, addr, func(ctx context.Context, c net.Conn) error {
		//nolint:gosec // only whether it speaks TLS at all; nothing is sent over it
		return tls.Client(c, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	})
	if err == nil {
		return true
	}
	_, alert := errors.AsType[tls.AlertError](err)
	return alert || isRemoteAlert(err)
}

// logIn authenticates as the clients would.
func (p *probe) logIn(ctx context.Context, t *talk, addr string) error {
	if p.login == nil {
		return nil
	}
	code, offered, err := t.handshake(p.login.Name())
	if err != nil {
		return p.say.brokeOff(addr, err)
	}
	switch kerr.ErrorForCode(code) {
	case nil:
	case kerr.UnsupportedSaslMechanism:
		return p.say.mechanism(addr, p.login.Name(), offered)
	case kerr.IllegalSaslState:
		return p.say.saslNotWanted(addr, p.login.Name())
	default:
		return p.say.refusedLogin(addr, p.login, kerr.ErrorForCode(code).Error())
	}
	return p.exchange(ctx, t, addr)
}

// exchange carries the mechanism's steps to and fro until both sides are done.
func (p *probe) exchange(ctx context.Context, t *talk, addr string) error {
	session, step, err := p.login.start(ctx, addr)
	if err != nil {
		return p.say.login(err)
	}
	for done := false; ; {
		resp, err := t.authenticate(step)
		if err != nil {
			return p.say.loginBrokeOff(addr, p.login, err)
		}
		if kerr.ErrorForCode(resp.ErrorCode) != nil {
			message := ""
			if resp.ErrorMessage != nil {
				message = *resp.ErrorMessage
			}
			return p.say.refusedLogin(addr, p.login, message)
		}
		if done {
			return nil
		}
		if done, step, err = session.Challenge(resp.SASLAuthBytes); err != nil {
			return p.say.refusedLogin(addr, p.login, err.Error())
		}
		if done && len(step) == 0 {
			return nil
		}
	}
}

// metadataFailed: a listener with SASL answers API versions to anybody and then
// closes on whoever has not logged in.
func (p *probe) metadataFailed(ctx context.Context, addr string, err error) error {
	if p.login == nil && isClosed(err) {
		var offered []string
		again := p.again(ctx, addr, func(ctx context.Context, c net.Conn) error {
			if p.tls != nil {
				tc := tls.Client(c, p.tlsFor(addr))
				if err := tc.HandshakeContext(ctx); err != nil {
					return err
				}
				c = tc
			}
			code, list, err := newTalk(ctx, c, p.id).handshake("kcm asks for the list")
			if err == nil && kerr.ErrorForCode(code) == kerr.UnsupportedSaslMechanism {
				offered = list
			}
			return err
		})
		if again == nil && len(offered) > 0 {
			return p.say.saslWanted(addr, offered)
		}
	}
	return p.say.brokeOff(addr, err)
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, errReset) || errors.Is(err, errPipe) || errors.Is(err, errAborted)
}

// isSilence reports whether a finding may also be slowness.
func isSilence(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && errors.Is(f.Err, errSilent)
}
