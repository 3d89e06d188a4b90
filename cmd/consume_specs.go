package cmd

import (
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/source"
	"github.com/kcm-cli/kcm/internal/spec"
)

// stored is the error of a place that this run has nothing to be stored in for.
func stored(what string) *fault.Error {
	return fault.New(fault.Usage, "%s stored needs a group or a state file to be stored in", what).
		WithHint("group:NAME reads the commits of a group without joining it")
}

// checkSpecs refuses sources whose own start or stop cannot be obeyed.
func (o *consumeOptions) checkSpecs(wants []source.Want) error {
	for _, w := range wants {
		start, stop := w.Source.Start, w.Source.Stop
		if start == nil || o.offsets.Starts() {
			continue
		}
		if start.Bound.Kind == spec.Stored && !o.stores() {
			return stored(start.Origin.String() + ": start:")
		}
		if stop != nil && isEmpty(start, stop) {
			return fault.New(fault.Usage, "%s: stop: %s lies before start: %s, so that nothing is ever read", stop.Origin, stop.Text, start.Text)
		}
	}
	return nil
}

// isEmpty reports whether two plain offsets leave nothing between them.
func isEmpty(start, stop *metadata.Spec) bool {
	return start.Bound.Kind == spec.Offset && stop.Bound.Kind == spec.Offset && stop.Bound.N < start.Bound.N
}
