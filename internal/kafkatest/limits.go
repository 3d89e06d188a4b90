package kafkatest

import (
	"time"

	"github.com/twmb/franz-go/pkg/kversion"
)

// startPatience covers the start of three brokers on a busy two-core machine.
const startPatience = 2 * time.Minute

// maxMessageBytes is message.max.bytes of every cluster: records of tens of
// megabytes must be possible.
const maxMessageBytes = 64 << 20

func produceByName() *kversion.Versions {
	v := kversion.Stable()
	v.SetMaxKeyVersion(0, 12)
	return v
}
