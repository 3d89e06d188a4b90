package cmd

import (
	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
)

// schemas are what the decoders of a run know schemas from. A nil *schemas knows
// none.
type schemas struct{}

// of is what decoders know about the topic of a split; the topic may be empty.
func (s *schemas) of(at record.Split) codec.Env { return codec.Env{Cluster: at.Cluster} }

// clusterIn names the cluster of a want; a run over files alone has none.
func clusterIn(w source.Want) record.Split {
	if w.Source == nil {
		return record.Split{}
	}
	return record.Split{Cluster: w.Source.Cluster}
}
