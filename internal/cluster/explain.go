package cluster

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Explain turns an error of a client, a broker or the network into a
// *fault.Error that names the cluster (and the topic, unless empty), has the
// right kind and says more than "context deadline exceeded" where more is known.
// nil, context.Canceled and errors that are a *fault.Error already come back as
// they are.
func (c *Cluster) Explain(err error, topic string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	where := c.name
	if topic != "" {
		where += "/" + topic
	}
	if ke, ok := errors.AsType[*kerr.Error](err); ok {
		return c.explainCode(ke, err, where, topic)
	}
	if f := c.explainNetwork(err); f != nil {
		return f
	}
	return c.kind(fault.Failed, err, where, "%s", lowerFirst(strings.TrimSuffix(err.Error(), ".")))
}

func (c *Cluster) kind(k fault.Kind, cause error, where, format string, args ...any) *fault.Error {
	f := fault.New(k, "%s: "+format, append([]any{where}, args...)...).On(c.name)
	f.Message, f.Err = c.redact(f.Message), cause
	return f
}

// brokerCodes are the broker's errors that a user meets, in words.
var brokerCodes = map[*kerr.Error]struct {
	kind fault.Kind
	text string
	hint string
}{
	kerr.TopicAuthorizationFailed:           {fault.Auth, "not authorized to read", "the principal needs READ and DESCRIBE on the topic"},
	kerr.GroupAuthorizationFailed:           {fault.Auth, "not authorized to use the group", "the principal needs READ on the group"},
	kerr.ClusterAuthorizationFailed:         {fault.Auth, "not authorized on the cluster", "the principal needs DESCRIBE on the cluster"},
	kerr.TransactionalIDAuthorizationFailed: {fault.Auth, "not authorized to use the transactional id", "the principal needs WRITE and DESCRIBE on it"},
	kerr.SaslAuthenticationFailed:           {fault.Auth, "the login is refused", "check user and password"},
	kerr.UnsupportedSaslMechanism:           {fault.Auth, "the brokers do not offer the SASL mechanism that is configured", "set sasl.mechanism to one that they offer"},
	kerr.IllegalSaslState:                   {fault.Auth, "SASL is configured on one side only", "check the listener's port and security.protocol"},
	kerr.UnknownTopicOrPartition:            {fault.Failed, "no such topic or partition", ""},
	kerr.UnknownTopicID:                     {fault.Failed, "the topic was deleted", ""},
	kerr.InvalidTopicException:              {fault.Failed, "not a valid topic name", "topic names have letters, digits, . _ and -, at most 249 of them"},
	kerr.LeaderNotAvailable:                 {fault.Failed, "no leader", "the brokers that hold its replicas are down, or a leader is being elected"},
	kerr.NotLeaderForPartition:              {fault.Failed, "the leader has moved", ""},
	kerr.ReplicaNotAvailable:                {fault.Failed, "the replica is not available", ""},
	kerr.BrokerNotAvailable:                 {fault.Failed, "the broker is not available", ""},
	kerr.KafkaStorageError:                  {fault.Failed, "the broker cannot read its disk", "the broker's log says more"},
	kerr.OffsetOutOfRange:                   {fault.Failed, "the offset is out of range", ""},
	kerr.CoordinatorNotAvailable:            {fault.Failed, "the group's coordinator is not available", ""},
	kerr.RequestTimedOut:                    {fault.Failed, "the broker could not do it in time", ""},
	kerr.UnsupportedVersion:                 {fault.Failed, "the brokers are too old for this request", ""},
	kerr.UnsupportedForMessageFormat:        {fault.Failed, "the topic's message format is too old for this request", ""},
	kerr.TopicDeletionDisabled:              {fault.Refused, "the cluster does not allow topics to be deleted", ""},
	kerr.PolicyViolation:                    {fault.Refused, "a policy of the cluster forbids it", ""},
}

func (c *Cluster) explainCode(ke *kerr.Error, err error, where, topic string) error {
	x, ok := brokerCodes[ke]
	if !ok {
		return c.kind(fault.Failed, err, where, "%s (%s)", lowerFirst(strings.TrimSuffix(ke.Description, ".")), ke.Message)
	}
	text := x.text
	if ke == kerr.SaslAuthenticationFailed && c.login != nil {
		text = "the login" + asUser(c.login) + " with " + c.login.Name() + " is refused"
		// kgo puts the broker's own words behind the code's.
		if _, own, found := strings.Cut(err.Error(), ke.Error()+": "); found {
			text += ": " + lowerFirst(strings.TrimSuffix(own, "."))
		}
	}
	if ke == kerr.UnknownTopicOrPartition && topic == "" {
		text = "the broker does not know the topic or partition"
	}
	f := c.kind(x.kind, err, where, "%s", text)
	if x.hint != "" {
		return f.WithHint("%s", x.hint)
	}
	return f
}

// explainNetwork explains errors that come from before Kafka; nil when err is
// none of them.
func (c *Cluster) explainNetwork(err error) error {
	s := c.sentences()
	if de, ok := errors.AsType[*dialError](err); ok {
		return c.explainDial(de)
	}
	if le, ok := errors.AsType[*loginError](err); ok {
		return s.login(le)
	}
	if f := s.certificate(strings.Join(c.bootstrap, ", "), err); f != nil {
		return f
	}
	text := err.Error()
	addrs := strings.Join(c.bootstrap, ", ")
	switch {
	case strings.Contains(text, "tls alert record"):
		if f := c.book.finding(""); f != nil { // of the bootstrap addresses one has answered
			return f
		}
		return s.tlsPort(addrs, c.login != nil)
	case strings.Contains(text, "'HTTP' in ascii"):
		return s.http(addrs)
	case strings.Contains(text, "invalid large response size"), strings.Contains(text, "invalid negative response size"):
		return c.kind(fault.Failed, err, c.name, "an answer is larger than receive.message.max.bytes (%d), or not Kafka's", c.dialer.wire.maxRead)
	case isTimeout(err):
		if last := c.lastDialError(); last != nil {
			return c.explainDial(last)
		}
		return s.unreachable(err, "no answer in time")
	case errors.Is(err, kgo.ErrClientClosed):
		return c.kind(fault.Failed, err, c.name, "the client is closed")
	case isClosed(err), isFirstRead(err), strings.Contains(text, "broker connection has died"), strings.Contains(text, "correlation ID mismatch"):
		return s.unreachable(err, "the connection was closed").
			WithHint("the broker may be starting or stopping; at the first contact the listener may want TLS or SASL")
	}
	return nil
}

// lastDialError returns what went wrong with connecting lately, when kgo has
// hidden it behind retries and a deadline.
func (c *Cluster) lastDialError() *dialError {
	de, _ := errors.AsType[*dialError](c.book.recent("", 30*time.Second))
	return de
}

// explainDial tells a bootstrap address from one that a broker advertises.
func (c *Cluster) explainDial(de *dialError) error {
	s := c.sentences()
	if de.tls {
		if f := c.book.finding(de.addr); f != nil {
			return f
		}
		if f := s.certificate(de.addr, de.err); f != nil {
			return f
		}
		if isTimeout(de.err) {
			return s.silent(de.addr)
		}
		if isClosed(de.err) {
			return s.closes(de.addr, true, c.login != nil)
		}
		return s.handshake(de.addr, de.err)
	}
	id, advertised := c.book.node(de.addr)
	via := c.book.entrance()
	if !advertised {
		return s.dial(de.addr, de.err)
	}
	if via == "" || via == de.addr || c.book.once(de.addr) {
		what, hint := dialTrouble(de.addr, de.err)
		return s.unreachable(de, "broker %d (%s) %s", id, de.addr, what).WithHint("%s", hint)
	}
	host, port, _ := net.SplitHostPort(de.addr)
	n, _ := strconv.Atoi(port)
	return s.advertised(via, Broker{ID: id, Host: host, Port: int32(n)}, de) //nolint:gosec // a port
}

func isFirstRead(err error) bool {
	_, ok := errors.AsType[*kgo.ErrFirstReadEOF](err)
	return ok
}
