package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kcm-cli/kcm/internal/source"
)

// mostSources is how many topics a summary names; of more it names the clusters.
const mostSources = 8

// summaryText says what was read from where:
// 1,234 records (56.7 MB) in 2.10s: east/orders 800, west/orders.v2 434.
// What the reader has taken of a write that never ended is not known.
func summaryText(s source.Snapshot, took time.Duration) string {
	text := ""
	if s.Least {
		text = "at least "
	}
	text += fmt.Sprintf("%s (%s) in %s", countText(s.Total.Records), sizeText(s.Total.Bytes), durationText(took.Round(10*time.Millisecond)))
	if from := sourcesText(s.Flows); from != "" {
		text += ": " + from
	}
	return text
}

func sourcesText(flows []source.FlowProgress) string {
	byTopic := func(f source.FlowProgress) string { return f.Cluster + "/" + f.Topic }
	byCluster := func(f source.FlowProgress) string { return f.Cluster }
	parts := sums(flows, byTopic)
	if len(parts) > mostSources {
		topics := len(parts)
		parts = append(sums(flows, byCluster), fmt.Sprintf("%d topics", topics))
	}
	if len(parts) > mostSources {
		parts = append(parts[:mostSources-2:mostSources-2], fmt.Sprintf("%d more clusters", len(parts)-mostSources+1), parts[len(parts)-1])
	}
	return strings.Join(parts, ", ")
}

// sums adds up the records of flows of one name each; flows are in order of it.
func sums(flows []source.FlowProgress, name func(source.FlowProgress) string) (parts []string) {
	for len(flows) > 0 {
		this := name(flows[0])
		n := slices.IndexFunc(flows, func(f source.FlowProgress) bool { return name(f) != this })
		if n < 0 {
			n = len(flows)
		}
		var records int64
		for _, f := range flows[:n] {
			records += f.Records
		}
		parts = append(parts, this+" "+grouped(records))
		flows = flows[n:]
	}
	return parts
}

// sourceField is what was read of a topic for one stream, in the summary.
type sourceField struct {
	Stream  string `json:"stream"`
	Cluster string `json:"cluster"`
	Topic   string `json:"topic"`
	Splits  int    `json:"splits"`
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"`
}

// summaryFields are the members of the summary's JSON object.
func summaryFields(s source.Snapshot, took time.Duration) []Field {
	sources := []sourceField{}
	for _, f := range s.Flows {
		sources = append(sources, sourceField{f.Stream, f.Cluster, f.Topic, f.Splits, f.Records, f.Bytes})
	}
	fields := []Field{
		{"records", s.Total.Records},
		{"bytes", s.Total.Bytes},
		{"filtered", s.Total.Filtered},
		{"undecoded", s.Total.Undecoded},
		{"seconds", float64(took.Milliseconds()) / 1000},
		{"lag", known(s.Total.Lag)},
		{"sources", sources},
		{"clusters", clusterFields(s.Clusters)},
	}
	if s.Least {
		fields = append(fields, Field{"at_least", true})
	}
	if s.Ordered {
		fields = append(fields, Field{"late", s.Late}, Field{"disordered", s.Back})
	}
	return fields
}
