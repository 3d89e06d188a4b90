package offsets_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// TestOldBrokers: brokers that take one group in a request, and know neither kinds
// nor states in a list.
func TestOldBrokers(t *testing.T) {
	for name, version := range map[string]*kversion.Versions{"2.4": kversion.V2_4_0(), "2.8": kversion.V2_8_0(), "3.6": kversion.V3_6_0()} {
		t.Run(name, func(t *testing.T) {
			rig := kafkatest.Fake(t, kafkatest.Options{Brokers: 2, Fake: []kfake.Opt{kfake.MaxVersions(version)}})
			k := rig.Cluster("east")
			k.CreateTopic("t", 1, nil)
			for _, g := range []string{"a", "b", "c", "d"} {
				k.Commit(g, "t", 0, 0)
			}
			want := []string{"a", "b", "c", "d"}
			for i := range want {
				want[i] += " classic Empty; t/0 0 0..0 lag 0"
			}
			c := open(t, k)
			for _, s := range []offsets.Selection{{All: true}, named("a", "b", "c", "d")} {
				if got := shown(t, c, s, nil); !slices.Equal(got, want) {
					t.Errorf("%v:\n%s", s, strings.Join(got, "\n"))
				}
			}
			if got := shown(t, c, named("nobody"), nil); !slices.Equal(got, []string{"nobody  Dead"}) {
				t.Errorf("unknown: %q", got)
			}
		})
	}
}
