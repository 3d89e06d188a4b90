package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/fault"
)

func TestExplain(t *testing.T) {
	c := mustNew(t, Config{Bootstrap: []string{"h:1"}, SASL: plainSASL})
	for _, tc := range []struct {
		err   error
		topic string
		kind  fault.Kind
		want  string
	}{
		{kerr.TopicAuthorizationFailed, "orders", fault.Auth, "east/orders: not authorized to read"},
		{kerr.GroupAuthorizationFailed, "", fault.Auth, "east: not authorized to use the group"},
		{kerr.ClusterAuthorizationFailed, "", fault.Auth, "east: not authorized on the cluster"},
		{fmt.Errorf("unable: %w", kerr.SaslAuthenticationFailed), "", fault.Auth, `east: the login of "app" with PLAIN is refused`},
		{fmt.Errorf("%w: %s", kerr.SaslAuthenticationFailed, "Bad password."), "", fault.Auth, `east: the login of "app" with PLAIN is refused: bad password`},
		{kerr.UnknownTopicOrPartition, "orders", fault.Failed, "east/orders: no such topic or partition"},
		{kerr.UnknownTopicOrPartition, "", fault.Failed, "east: the broker does not know the topic or partition"},
		{kerr.LeaderNotAvailable, "orders", fault.Failed, "east/orders: no leader"},
		{kerr.InvalidConfig, "orders", fault.Failed, "east/orders: configuration is invalid (INVALID_CONFIG)"},
		{kgo.ErrClientClosed, "", fault.Failed, "east: the client is closed"},
		{io.EOF, "", fault.Unreachable, "east: the connection was closed"},
		{errors.New("the broker connection has died and the request will be retried on a new connection"), "orders", fault.Unreachable, "east: the connection was closed"},
		{&kgo.ErrFirstReadEOF{}, "", fault.Unreachable, "east: the connection was closed"},
		{context.DeadlineExceeded, "orders", fault.Unreachable, "east: no answer in time"},
		{fmt.Errorf("%s", "Something odd."), "orders", fault.Failed, "east/orders: something odd"},
		{errors.New("invalid large response size 300000000 > limit 268435456"), "", fault.Failed, "east: an answer is larger than receive.message.max.bytes (268435456), or not Kafka's"},
	} {
		got := c.Explain(tc.err, tc.topic)
		f, ok := errors.AsType[*fault.Error](got)
		if !ok || got.Error() != tc.want || f.Kind != tc.kind || f.Cluster != "east" || !errors.Is(got, tc.err) {
			t.Errorf("%v: got %v (%+v)", tc.err, got, f)
		}
	}
	if c.Explain(nil, "") != nil || !errors.Is(c.Explain(context.Canceled, ""), context.Canceled) {
		t.Error("nil and canceled must stay what they are")
	}
	own := fault.New(fault.Refused, "x")
	if got := c.Explain(own, "orders"); got != error(own) {
		t.Errorf("a fault is changed: %v", got)
	}
}

// TestExplainTimeout: kgo hides a refused port behind retries until the
// deadline; the sentence is about the port.
func TestExplainTimeout(t *testing.T) {
	addr := closedPort(t)
	c := mustNew(t, Config{Bootstrap: []string{addr}})
	_, err := c.Topics(t.Context())
	if want := "east: " + addr + " refuses the connection"; err == nil || err.Error() != want || fault.KindOf(err) != fault.Unreachable {
		t.Errorf("got %v", err)
	}
}

func TestNearest(t *testing.T) {
	topics := []string{"orders", "orders.v2", "payments", "Users", "user-events", "x"}
	for name, want := range map[string]string{
		"ordres":   "[orders]",
		"order":    "[orders orders.v2]",
		"ORDERS":   "[orders orders.v2]",
		"users":    "[Users]",
		"paymnets": "[payments]",
		"zzz":      "[]",
		"y":        "[x]",
	} {
		if got := fmt.Sprint(nearest(name, topics, 3)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
