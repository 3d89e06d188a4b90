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
