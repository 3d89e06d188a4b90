package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxProbeAnswer bounds what the probe reads: its answers are small but for the
// metadata of a large cluster's brokers.
const maxProbeAnswer = 16 << 20

// foreignError is an answer that is not Kafka's.
type foreignError struct{ first [4]byte }

func (e *foreignError) Error() string { return fmt.Sprintf("the answer begins with %x", e.first) }

// isTLS reports whether the answer is a TLS alert or handshake record.
func (e *foreignError) isTLS() bool {
	return (e.first[0] == 0x15 || e.first[0] == 0x16) && e.first[1] == 3
}

// isHTTP reports whether the answer is HTTP's.
func (e *foreignError) isHTTP() bool { return string(e.first[:]) == "HTTP" }

// talk is one plain conversation in Kafka's protocol, one request at a time.
type talk struct {
	conn   net.Conn
	format *kmsg.RequestFormatter
	corr   int32
}

// newTalk speaks over conn until ctx ends.
func newTalk(ctx context.Context, conn net.Conn, clientID string) *talk {
	if d, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(d)
	}
	return &talk{conn: conn, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))}
}

// ask sends req, at the version that it carries, and reads its answer.
func (t *talk) ask(req kmsg.Request) (kmsg.Response, error) {
	t.corr++
	if _, err := t.conn.Write(t.format.AppendRequest(nil, req, t.corr)); err != nil {
		return nil, err
	}
	body, err := t.read()
	if err != nil {
		return nil, err
	}
	if len(body) < 4 || int32(binary.BigEndian.Uint32(body)) != t.corr { //nolint:gosec // the wire's own number
		return nil, &foreignError{first: head(body)}
	}
	resp := req.ResponseKind()
	body = body[4:]
	if resp.IsFlexible() && resp.Key() != 18 { // KIP-511: ApiVersions answers keep the old header
		body = body[min(1, len(body)):]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, &foreignError{first: head(body)}
	}
	return resp, nil
}

func head(b []byte) (h [4]byte) {
	copy(h[:], b)
	return h
}

func (t *talk) read() ([]byte, error) {
	var size [4]byte
	if n, err := io.ReadFull(t.conn, size[:]); err != nil {
		if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, &foreignError{first: size}
		}
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > maxProbeAnswer {
		return nil, &foreignError{first: size}
	}
	body := make([]byte, n)
	_, err := io.ReadFull(t.conn, body)
	return body, err
}

// speaksKafka asks for the API versions, in the oldest form, and says whether
// the answer is Kafka's.
func speaksKafka(ctx context.Context, conn net.Conn, clientID string) error {
	_, err := newTalk(ctx, conn, clientID).versions()
	return err
}

func (t *talk) versions() (*kmsg.ApiVersionsResponse, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 0
	resp, err := t.ask(req)
	if err != nil {
		return nil, err
	}
	r, ok := resp.(*kmsg.ApiVersionsResponse)
	if !ok || len(r.ApiKeys) == 0 {
		return nil, &foreignError{}
	}
	return r, nil
}

// handshake offers a mechanism and returns the broker's error code and list.
func (t *talk) handshake(mechanism string) (code int16, offered []string, err error) {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Version, req.Mechanism = 1, mechanism
	resp, err := t.ask(req)
	if err != nil {
		return 0, nil, err
	}
	r, ok := resp.(*kmsg.SASLHandshakeResponse)
	if !ok {
		return 0, nil, &foreignError{}
	}
	return r.ErrorCode, r.SupportedMechanisms, nil
}

// authenticate carries one step's bytes there and back (KIP-152).
func (t *talk) authenticate(step []byte) (*kmsg.SASLAuthenticateResponse, error) {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version, req.SASLAuthBytes = 0, step
	resp, err := t.ask(req)
	if err != nil {
		return nil, err
	}
	r, ok := resp.(*kmsg.SASLAuthenticateResponse)
	if !ok {
		return nil, &foreignError{}
	}
	return r, nil
}

// brokers asks for the cluster's id and brokers, and for no topic.
func (t *talk) brokers(v *kmsg.ApiVersionsResponse) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // nil would be all of them
	req.Version = 4
	for _, k := range v.ApiKeys {
		if k.ApiKey == req.Key() {
			req.Version = max(k.MinVersion, min(k.MaxVersion, 4))
		}
	}
	resp, err := t.ask(req)
	if err != nil {
		return nil, err
	}
	r, ok := resp.(*kmsg.MetadataResponse)
	if !ok {
		return nil, &foreignError{}
	}
	return r, nil
}

// stage is a deadline of its own within ctx, so that one silent step leaves
// time for a second look.
func stage(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}
