package internals

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/mirror"
)

func TestTopicsAreToldByName(t *testing.T) {
	for name, want := range map[string]Topic{
		"__consumer_offsets":              &consumerOffsets,
		"__transaction_state":             &transactionState,
		"__share_group_state":             &shareGroupState,
		"west.checkpoints.internal":       &checkpoints,
		"us-west-checkpoints-internal":    &checkpoints,
		"mm2-offset-syncs.east.internal":  &offsetSyncs,
		"heartbeats":                      &heartbeats,
		"a.b.heartbeats":                  &heartbeats,
		"orders":                          nil,
		"__consumer_offsets2":             nil,
		"checkpoints.internal":            nil,
		"mm2-configs.east.internal":       nil,
		"mm2-offset-syncs..internal":      nil,
		"west.__consumer_offsets":         nil,
		"west.__consumer_offsets-replica": nil,
	} {
		if got := For(name); got != want {
			t.Errorf("%s is %T %v", name, got, got)
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The JSON is promised: names, their order, and how things are written. Bytes of
// offsets, transactions and syncs as brokers and MirrorMaker 2 wrote them.
func TestJSON(t *testing.T) {
	group := kmsg.GroupMetadataValue{Version: 3, ProtocolType: "consumer", Generation: 2, Members: []kmsg.GroupMetadataValueMember{{
		MemberID: "m", ClientID: "c", ClientHost: "/127.0.0.1", RebalanceTimeoutMillis: 60000, SessionTimeoutMillis: 45000,
		Subscription: (&kmsg.ConsumerMemberMetadata{Version: 0, Topics: []string{"orders"}, UserData: []byte{1}}).AppendTo(nil),
		Assignment: (&kmsg.ConsumerMemberAssignment{Topics: []kmsg.ConsumerMemberAssignmentTopic{
			{Topic: "orders", Partitions: []int32{0, 2}},
		}}).AppendTo(nil),
	}}}
	later := group
	later.Members = append([]kmsg.GroupMetadataValueMember(nil), group.Members...)
	later.Members[0].Subscription = append((&kmsg.ConsumerMemberMetadata{Version: 3, Topics: []string{"a"}, Generation: 7}).AppendTo(nil), 9, 9)
	later.Members[0].Subscription[1] = 12
	later.Members[0].Assignment = []byte{}
	connect := later
	connect.ProtocolType = "connect"
	const sub3 = `{"version":12,"topics":["a"],"user_data":null,"owned_partitions":[],"generation_id":7,"rack_id":null}`

	for _, tt := range []struct {
		name, topic string
		key, value  []byte
		want        string // key, a blank, value
	}{
		{
			"a commit", "__consumer_offsets", unhex(t, "0001"+"000167"+"0001740000000b"),
			unhex(t, "0003"+"0000000000000005"+"00000002"+"0002c3a9"+"0000018bcfe56800"),
			`{"version":1,"type":"offset_commit","group":"g","topic":"t","partition":11} ` +
				`{"version":3,"offset":5,"leader_epoch":2,"metadata":"é","commit_timestamp":1700000000000}`,
		},
		{
			"a deleted commit", "__consumer_offsets", unhex(t, "000100016700017400000000"), nil,
			`{"version":1,"type":"offset_commit","group":"g","topic":"t","partition":0} null`,
		},
		{
			"a group of consumers", "__consumer_offsets", unhex(t, "0002000167"), group.AppendTo(nil),
			`{"version":2,"type":"group_metadata","group":"g"} ` +
				`{"version":3,"protocol_type":"consumer","generation":2,"protocol":null,"leader":null,"current_state_timestamp":0,` +
				`"members":[{"member_id":"m","group_instance_id":null,"client_id":"c","client_host":"/127.0.0.1",` +
				`"rebalance_timeout":60000,"session_timeout":45000,` +
				`"subscription":{"version":0,"topics":["orders"],"user_data":"AQ=="},` +
				`"assignment":{"version":0,"assigned_partitions":[{"topic":"orders","partitions":[0,2]}],"user_data":null}}]}`,
		},
		{
			"a group of another protocol", "__consumer_offsets", unhex(t, "0002000167"), connect.AppendTo(nil),
			`{"version":2,"type":"group_metadata","group":"g"} ` +
				`{"version":3,"protocol_type":"connect","generation":2,"protocol":null,"leader":null,"current_state_timestamp":0,` +
				`"members":[{"member_id":"m","group_instance_id":null,"client_id":"c","client_host":"/127.0.0.1",` +
				`"rebalance_timeout":60000,"session_timeout":45000,"subscription":"AAwAAAABAAFh/////wAAAAAAAAAH//8JCQ==","assignment":""}]}`,
		},
		{
			"consumers of a later version, not yet assigned", "__consumer_offsets", unhex(t, "0002000167"), later.AppendTo(nil),
			`{"version":2,"type":"group_metadata","group":"g"} ` +
				`{"version":3,"protocol_type":"consumer","generation":2,"protocol":null,"leader":null,"current_state_timestamp":0,` +
				`"members":[{"member_id":"m","group_instance_id":null,"client_id":"c","client_host":"/127.0.0.1",` +
				`"rebalance_timeout":60000,"session_timeout":45000,"subscription":` + sub3 + `,"assignment":""}]}`,
		},
		{
			"a type of the future", "__consumer_offsets", unhex(t, "03e7ff00"), unhex(t, "000101"),
			`{"version":999,"bytes":"/wA="} {"version":1,"bytes":"AQ=="}`,
		},
		{
			"a version of the future", "__consumer_offsets", unhex(t, "0002000167"), unhex(t, "000501"),
			`{"version":2,"type":"group_metadata","group":"g"} {"version":5,"bytes":"AQ=="}`,
		},
		{
			"a tagged field of the future", "__consumer_offsets", unhex(t, "0003000167"), unhex(t, "0000"+"00000007"+"02"+"0008ffffffffffffffff"+"0503abcdef"),
			`{"version":3,"type":"consumer_group_metadata","group_id":"g"} {"version":0,"epoch":7,"metadata_hash":-1,"tag_5":"q83v"}`,
		},
		{
			"no key", "__consumer_offsets", nil, nil,
			`null null`,
		},
		{
			"a transaction", "__transaction_state", unhex(t, "0000000174"),
			unhex(t, "0001"+"0000000000000bb8"+"0001"+"0000ea60"+"04"+"02027403"+"0000000000000001"+"00"+"0000018bcfe56800"+"0000018bcfe56801"+"01"+"0202"+"0002"),
			`{"version":0,"type":"transaction","transactional_id":"t"} ` +
				`{"version":1,"producer_id":3000,"producer_epoch":1,"transaction_timeout_ms":60000,"transaction_status":"CompleteCommit",` +
				`"transaction_partitions":[{"topic":"t","partition_ids":[0,1]}],"transaction_last_update_timestamp_ms":1700000000000,` +
				`"transaction_start_timestamp_ms":1700000000001,"client_transaction_version":2}`,
		},
		{
			"a status of the future", "__transaction_state", unhex(t, "0000000174"),
			unhex(t, "0000"+"0000000000000bb8"+"0001"+"0000ea60"+"09"+"ffffffff"+"0000018bcfe56800"+"0000018bcfe56801"),
			`{"version":0,"type":"transaction","transactional_id":"t"} ` +
				`{"version":0,"producer_id":3000,"producer_epoch":1,"transaction_timeout_ms":60000,"transaction_status":9,` +
				`"transaction_partitions":null,"transaction_last_update_timestamp_ms":1700000000000,"transaction_start_timestamp_ms":1700000000001}`,
		},
		{
			"a checkpoint", "source1.checkpoints.internal", unhex(t, "00086d792d67726f7570000e736f75726365312e746f7069633100000002"),
			unhex(t, "0000000000000000000a000000000000000500046d657461"),
			`{"group":"my-group","topic":"source1.topic1","partition":2} ` +
				`{"version":0,"upstream_offset":10,"downstream_offset":5,"metadata":"meta"}`,
		},
		{
			"a deleted checkpoint", "source1.checkpoints.internal", unhex(t, "0004672dc3a9000e75732d776573742e6f726465727300000000"), nil,
			`{"group":"g-é","topic":"us-west.orders","partition":0} null`,
		},
		{
			"a checkpoint of the future", "source1.checkpoints.internal", unhex(t, "0001670001740000000a"), unhex(t, "0001ff"),
			`{"group":"g","topic":"t","partition":10} {"version":1,"bytes":"/w=="}`,
		},
		{
			"an offset sync", "mm2-offset-syncs.b.internal", unhex(t, "0006746f7069633100000002"), unhex(t, "000000000000006400000000000000c8"),
			`{"topic":"topic1","partition":2} {"upstream_offset":100,"downstream_offset":200}`,
		},
		{
			"a heartbeat", "primary.heartbeats", unhex(t, "00077072696d61727900066261636b7570"), unhex(t, "00000000018bcfe56800"),
			`{"source_cluster_alias":"primary","target_cluster_alias":"backup"} {"version":0,"timestamp":1700000000000}`,
		},
	} {
		topic := For(tt.topic)
		out, err := topic.AppendKey([]byte("before "), tt.key)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		out, err = topic.AppendValue(append(out, ' '), tt.key, tt.value)
		if got := strings.TrimPrefix(string(out), "before "); err != nil || got != tt.want {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, got, tt.want)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, tt := range []struct{ topic, key, value, want string }{
		{"__consumer_offsets", "00", "", "key: 1 bytes are too few for a version"},
		{"__consumer_offsets", "00010001", "", "key of offset_commit: group: 1 bytes needed, 0 left"},
		{"__consumer_offsets", "0001fffe", "", "key of offset_commit: group: a length of -2"},
		{"__consumer_offsets", "0001ffff", "", "key of offset_commit: group: null, which it cannot be"},
		{"__consumer_offsets", "00010002c328000000000000", "", "key of offset_commit: group: not valid UTF-8"},
		{"__consumer_offsets", "00010001670001740000000000", "", "key of offset_commit: 1 bytes left over"},
		{"__consumer_offsets", "0001", "0003000000", "value of offset_commit, version 3: offset: 8 bytes needed, 3 left"},
		{"__consumer_offsets", "", "0003", "value: its key has no type: 0 bytes are too few for a version"},
		{"__consumer_offsets", "0002", "0000000000000001ffffffff7fffffff", "value of group_metadata, version 0: members: 2147483647 bytes needed, 0 left"},
		{"__consumer_offsets", "0003", "00000000000700ff", "value of consumer_group_metadata, version 0: 1 bytes left over"},
		{"__consumer_offsets", "0003", "00000000000702000100", "value of consumer_group_metadata, version 0: metadata_hash: 8 bytes needed, 1 left"},
		{"__consumer_offsets", "0003", "00000000000702050005" + "00", "value of consumer_group_metadata, version 0: tagged fields out of order"},
		{"__consumer_offsets", "0003", "000000000007ffffffffff", "value of consumer_group_metadata, version 0: no length within the 5 bytes left"},
		{"a.checkpoints.internal", "0001", "", "key of checkpoint: group: 1 bytes needed, 0 left"},
		{"a.checkpoints.internal", "", "000000", "value of checkpoint: upstream_offset: 8 bytes needed, 1 left"},
		{"mm2-offset-syncs.b.internal", "", "000000", "value of offset_sync: upstream_offset: 8 bytes needed, 3 left"},
	} {
		topic := For(tt.topic)
		var err error
		if tt.value == "" {
			_, err = topic.AppendKey(nil, unhex(t, tt.key))
		} else {
			_, err = topic.AppendValue(nil, unhex(t, tt.key), unhex(t, tt.value))
		}
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s %s %s: %v, want %s", tt.topic, tt.key, tt.value, err, tt.want)
		}
		if errors.Is(err, codec.ErrOther) {
			t.Errorf("%s: codec.ErrOther", tt.topic)
		}
	}
}

// Anybody may call a topic heartbeats.
func TestOtherHeartbeats(t *testing.T) {
	topic := For("heartbeats")
	heartbeat := mirror.Heartbeat{Source: []byte("a"), Target: []byte("b"), Timestamp: 1}
	key, value := heartbeat.AppendKey(nil), heartbeat.AppendValue(nil)
	if _, err := topic.AppendValue(nil, key, value); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() ([]byte, error){
		"a text as the key":    func() ([]byte, error) { return topic.AppendKey(nil, []byte("sensor-7")) },
		"a text as the value":  func() ([]byte, error) { return topic.AppendValue(nil, key, []byte(`{"alive":true}`)) },
		"no key":               func() ([]byte, error) { return topic.AppendValue(nil, nil, value) },
		"another key":          func() ([]byte, error) { return topic.AppendValue(nil, []byte("sensor-7"), nil) },
		"another version":      func() ([]byte, error) { return topic.AppendValue(nil, key, append([]byte{0, 1}, value[2:]...)) },
		"a value that is long": func() ([]byte, error) { return topic.AppendValue(nil, key, append(value, 0)) },
	} {
		if out, err := f(); !errors.Is(err, codec.ErrOther) {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	all, _ := readGolden(t)
	dst := make([]byte, 0, 1<<16)
	for _, g := range all {
		if g.side != "key" && g.side != "value" {
			continue
		}
		topic, key := For(g.topic), keyOf(g.id)
		n := testing.AllocsPerRun(20, func() {
			var err error
			if g.side == "key" {
				_, err = topic.AppendKey(dst, g.bytes)
			} else {
				_, err = topic.AppendValue(dst, key, g.bytes)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		if n > 0 {
			t.Errorf("%s %s %d: %v allocations", g.topic, g.side, g.id, n)
		}
	}
}

// No bytes bring more than a bounded amount of JSON, and what comes is JSON.
func FuzzTopics(f *testing.F) {
	all, _ := readGolden(f)
	topics := []string{
		"__consumer_offsets", "__transaction_state", "__share_group_state",
		"a.checkpoints.internal", "mm2-offset-syncs.b.internal", "heartbeats",
	}
	for _, g := range all {
		if g.side == "value" && g.variant == "full" {
			for i, name := range topics {
				if name == g.topic {
					f.Add(uint8(i), keyOf(g.id), g.bytes)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, key, value []byte) {
		topic := For(topics[int(which)%len(topics)])
		check := func(out []byte, err error, in int) {
			if len(out) > 1000+100*in {
				t.Errorf("%d bytes make %d", in, len(out))
			}
			if err == nil && !json.Valid(out) {
				t.Errorf("not JSON: %s", out)
			}
		}
		out, err := topic.AppendKey(nil, key)
		check(out, err, len(key))
		out, err = topic.AppendValue(nil, key, value)
		check(out, err, len(key)+len(value))
	})
}
