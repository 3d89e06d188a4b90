package cluster

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestController: where the quorum can be asked, metadata is not believed.
func TestController(t *testing.T) {
	for name, tc := range map[string]struct {
		quorum bool
		code   int16 // of the quorum's answer
		want   int32
	}{
		"without a quorum": {false, 0, 1},
		"with one":         {true, 0, 3000},
		"not allowed":      {true, kerr.ClusterAuthorizationFailed.Code, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := fake(t, kfake.NumBrokers(3))
			if tc.quorum {
				withQuorum(k, 3000, tc.code)
			}
			k.ControlKey(3, func(req kmsg.Request) (kmsg.Response, error, bool) {
				k.KeepControl()
				resp := leaderless(k, req.(*kmsg.MetadataRequest)).(*kmsg.MetadataResponse)
				resp.ControllerID = 1
				return resp, nil, true
			})
			c := mustNew(t, Config{Bootstrap: k.ListenAddrs()})
			if _, err := c.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				if got := c.Controller(t.Context()); got != tc.want {
					t.Errorf("got %d, want %d", got, tc.want)
				}
			}
		})
	}
}

// withQuorum has the brokers offer DescribeQuorum and answer it.
func withQuorum(k *kfake.Cluster, leader int32, code int16) {
	k.ControlKey(18, func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		for key, most := range map[int16]int16{3: 12, 18: 3, 55: 1} {
			x := kmsg.NewApiVersionsResponseApiKey()
			x.ApiKey, x.MaxVersion = key, most
			resp.ApiKeys = append(resp.ApiKeys, x)
		}
		return resp, nil, true
	})
	k.ControlKey(55, func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
		resp.ErrorCode = code
		t := kmsg.NewDescribeQuorumResponseTopic()
		p := kmsg.NewDescribeQuorumResponseTopicPartition()
		p.LeaderID = leader
		t.Partitions = append(t.Partitions, p)
		resp.Topics = append(resp.Topics, t)
		return resp, nil, true
	})
}
