package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
)

// groupName is a group that has commits on the topic of w.
func (w work) groupName(i int) string { return fmt.Sprintf("%s-%04d", w.topic(), i) }

// commitGroups lets the groups of w stand a third into each partition.
func commitGroups(ctx context.Context, adm *kadm.Client, w work) error {
	commits := kadm.Offsets{}
	for p := range int32(partitions) {
		commits.AddOffset(w.topic(), p, int64(w.Records/partitions/3), -1)
	}
	var committing sync.WaitGroup
	var once sync.Once
	var failed error
	room := make(chan struct{}, 32)
	for i := range w.Groups {
		room <- struct{}{}
		committing.Go(func() {
			defer func() { <-room }()
			if err := adm.CommitAllOffsets(ctx, w.groupName(i), commits); err != nil {
				once.Do(func() { failed = fmt.Errorf("commit of %s: %w", w.groupName(i), err) })
			}
		})
	}
	committing.Wait()
	return failed
}

// lagRow asks for the lag of all groups: kcm on two clusters, Kafka's own tool on
// one of them, for it knows no more.
func (k *kit) lagRow() row {
	w := k.work("groups")
	const kcm, java = "kcm offsets lag, two clusters", "kafka-consumer-groups, one cluster"
	lines := "grep -c " + w.topic() + "-"
	ask := contender{argv: []string{k.kcm, "offsets", "lag", "--all-groups", "-o", "csv"}, work: w, counts: byNumber, want: len(w.Clusters) * w.Groups * partitions}
	for _, cluster := range w.Clusters {
		addr, _ := k.broker(cluster)
		ask.argv = append(ask.argv, "-b", cluster+"="+addr)
	}
	peer := contender{name: java, work: w, counts: byNumber, want: w.Groups * partitions, slow: true}
	if peer.argv = k.javaTool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server", k.o.east, "--all-groups", "--describe"); peer.argv != nil {
		peer = piped(java, peer, lines)
	}
	return row{
		name:       "lag",
		title:      fmt.Sprintf("The lag of %d groups on %d partitions", w.Groups, partitions),
		note:       "kcm asks two clusters that have as many groups each, kafka-consumer-groups one of them. Both write lines, which grep counts. Records are not read: their rate means nothing here.",
		contenders: []contender{piped(kcm, ask, lines), peer},
		bars: []promise{
			{"time, kcm, two clusters : kafka-consumer-groups, one", times, kcm, java, 0.1},
			{"CPU, kcm : kafka-consumer-groups", cpus, kcm, java, 0.1},
			{"peak MB, kcm", peak, kcm, "", 100},
		},
	}
}
