//go:build kafka

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// TestHeadOfAMillion: a reader that has had enough of very many records ends the
// run at once, quietly and well.
func TestHeadOfAMillion(t *testing.T) {
	rig := kafkatest.Real(t, kafkatest.Options{})
	c, topic := rig.Cluster("east"), rig.Name("million")
	c.CreateTopic(topic, 4, nil)
	const each = 250_000
	for p := range int32(4) {
		c.ProduceWith(topic, []kgo.Opt{kgo.ProducerBatchCompression(kgo.Lz4Compression())}, numbered(c, p, 0, each)...)
	}
	for name, args := range map[string][]string{
		"-e": {"-e"}, "follow": {"-o", "start"}, "raw": {"-e", "-f", "raw"}, "where": {"-e", "-w", ".offset >= 0 and (.value | length) > 1"},
	} {
		t.Run(name, func(t *testing.T) {
			pr, pw, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			k := start(t, append([]string{"-b", c.Bootstrap(), "consume", topic}, args...), into(pw))
			pw.Close()
			lines := bufio.NewScanner(pr)
			for i := range 5 {
				if !lines.Scan() {
					t.Fatalf("line %d: %v", i, lines.Err())
				}
			}
			pr.Close()
			closed := time.Now()
			r := k.end(20 * time.Second)
			r.exits(t, 0)
			r.figures(t, fmt.Sprintf("%s, ended %v after the close", name, k.ended.Sub(closed).Round(time.Millisecond)))
			if d := k.ended.Sub(closed); d > 2*time.Second+ease {
				t.Errorf("ended %v after the close", d)
			}
			if most := map[bool]int{true: 1}[name == "follow"]; len(r.stderr) > most {
				t.Errorf("stderr %q", r.stderr)
			}
		})
	}
}
