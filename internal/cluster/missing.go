package cluster

import (
	"encoding/base64"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// IsMissing reports whether err says that a topic, or a partition of it, does
// not exist.
func IsMissing(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)
}

// IDText is an id in the form that Kafka's own tools show: base64 for URLs,
// without padding. It is empty for the zero id.
func IDText(id [16]byte) string {
	if id == [16]byte{} {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}
