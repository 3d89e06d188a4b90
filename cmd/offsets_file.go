package cmd

import (
	"os"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// readListing reads a file of offsets.
func readListing(path string) (*offsets.Listing, error) {
	f, err := os.Open(path) //nolint:gosec // the user's own
	if err != nil {
		return nil, fault.New(fault.Usage, "%w", err)
	}
	defer func() { _ = f.Close() }()
	return offsets.ReadListing(f, path)
}

// warnOfPart tells that a file holds less than was to be exported.
func warnOfPart(env *Env, l *offsets.Listing) {
	if n := len(l.Lacking); n > 0 {
		env.run.notices.WarnOncef("%s is a part only of what was to be exported: %s went wrong then, first: %s", l.Name, count(int64(n), "thing"), l.Lacking[0])
	}
}
