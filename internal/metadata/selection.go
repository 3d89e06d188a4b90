package metadata

// Selection is what the words of a command line select from a view.
type Selection struct {
	Streams []*Stream
	Missing []Missing // words that select nothing now
}

// Missing is a word that selects nothing.
type Missing struct {
	Word    string
	Nearest string // the nearest name there is; may be empty
}

// Select finds what words name: streams, or CLUSTER/TOPIC. With regex they are
// RE2 patterns over whole stream names. With all, words must be empty and every
// stream is selected. A bad pattern or a bad mix is a fault.Usage.
func (v *View) Select(words []string, regex, all bool) (Selection, error) {
	return Selection{}, errTodo
}
