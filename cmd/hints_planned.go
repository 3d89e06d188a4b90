package cmd

import "slices"

// plannedFlags are the flags that other versions have: their names are right,
// and nothing like them is meant.
var plannedFlags = []string{
	"registry-copy",
}

// flagHint says what to type for a flag that kcm does not have.
func flagHint(name string) (hint string, ok bool) {
	if hint, ok = flagHints[name]; ok {
		return hint, true
	}
	return "this flag is not in this version", slices.Contains(plannedFlags, name)
}
