package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Configs are the settings of one topic.
type Configs struct {
	Topic   string
	Entries []ConfigEntry // by name
	Err     error
}

// ConfigEntry is one setting. A sensitive one has no value.
type ConfigEntry struct {
	Name      string
	Value     *string
	Default   bool // not set on the topic itself
	Sensitive bool
	ReadOnly  bool
}

// TopicConfigs returns the settings of topics in the order of names.
func (c *Cluster) TopicConfigs(ctx context.Context, names ...string) ([]Configs, error) {
	if len(names) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	cl, err := c.Control()
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, n := range names {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, n
		req.Resources = append(req.Resources, r)
	}
	resp, err := hedge(ctx, func(ctx context.Context) (*kmsg.DescribeConfigsResponse, error) {
		own := *req // a client writes the version into it
		return own.RequestWith(ctx, cl)
	})
	if err != nil {
		return nil, c.Explain(err, "")
	}
	byName := map[string]Configs{}
	for i := range resp.Resources {
		r := &resp.Resources[i]
		byName[r.ResourceName] = c.configsOf(r)
	}
	out := make([]Configs, 0, len(names))
	for _, n := range names {
		x, ok := byName[n]
		if !ok {
			x = Configs{Topic: n, Err: c.Explain(kerr.UnknownTopicOrPartition, n)}
		}
		out = append(out, x)
	}
	return out, nil
}

func (c *Cluster) configsOf(r *kmsg.DescribeConfigsResponseResource) Configs {
	x := Configs{Topic: r.ResourceName}
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		x.Err = c.Explain(err, r.ResourceName)
		return x
	}
	for _, e := range r.Configs {
		x.Entries = append(x.Entries, ConfigEntry{
			Name: e.Name, Value: e.Value, Sensitive: e.IsSensitive, ReadOnly: e.ReadOnly,
			Default: e.IsDefault || e.Source != kmsg.ConfigSourceUnknown && e.Source != kmsg.ConfigSourceDynamicTopicConfig,
		})
	}
	slices.SortFunc(x.Entries, func(a, b ConfigEntry) int { return strings.Compare(a.Name, b.Name) })
	return x
}

// Brokers returns the brokers by id with their racks and a guess of their
// versions; one that does not answer within 5 s has its Err set.
func (c *Cluster) Brokers(ctx context.Context) ([]Broker, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	cl, err := c.Control()
	if err != nil {
		return nil, err
	}
	info, err := hedge(ctx, func(ctx context.Context) (Info, error) { return askClient(ctx, cl) })
	if err != nil {
		return nil, c.Explain(err, "")
	}
	c.book.advertised(info.Brokers)
	actx, cancel2 := context.WithTimeout(ctx, brokerLimit)
	defer cancel2()
	var wg sync.WaitGroup
	for i := range info.Brokers {
		b := &info.Brokers[i]
		wg.Go(func() {
			req := kmsg.NewPtrApiVersionsRequest()
			req.ClientSoftwareName, req.ClientSoftwareVersion = "kcm", "1" // brokers refuse empty ones (KIP-511)
			resp, err := cl.Broker(int(b.ID)).Request(actx, req)
			v, ok := resp.(*kmsg.ApiVersionsResponse)
			if err == nil && ok {
				err = kerr.ErrorForCode(v.ErrorCode)
			}
			if err != nil || !ok {
				b.Err = c.explainBroker(err, b.ID)
				return
			}
			b.Version = kversion.FromApiVersionsResponse(v).VersionGuess()
			b.Features = featuresOf(v)
		})
	}
	wg.Wait()
	slices.SortFunc(info.Brokers, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	return info.Brokers, nil
}

func featuresOf(v *kmsg.ApiVersionsResponse) Features {
	f := Features{Epoch: v.FinalizedFeaturesEpoch, Finalized: map[string]int16{}, Supported: map[string][2]int16{}}
	for _, s := range v.SupportedFeatures {
		f.Supported[s.Name] = [2]int16{s.MinVersion, s.MaxVersion}
	}
	for _, s := range v.FinalizedFeatures {
		f.Finalized[s.Name] = s.MaxVersionLevel
	}
	return f
}
