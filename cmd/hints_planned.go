package cmd

// flagHint says what to type for a flag that kcm does not have.
func flagHint(name string) (hint string, ok bool) {
	hint, ok = flagHints[name]
	return hint, ok
}
