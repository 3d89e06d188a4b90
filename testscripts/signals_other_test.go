//go:build !unix

package testscripts

import "os"

func holdSignals() map[string]os.Signal { return nil }
