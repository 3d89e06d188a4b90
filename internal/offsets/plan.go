package offsets

// Change is one commit of a group that a plan is about.
type Change struct {
	Cluster, Group string
	Stream         string // that brought the partition in; may be empty
	Partition
	Prior *Commit // nil: none
	New   *Commit // nil: it is to be removed
	Note  string  // what is worth knowing: clamped, already there …
	// Err is why the change is not made, or failed: a *fault.Error. A plan with one
	// refused change is carried out for no group of that cluster that it is about.
	Err error
}

// Delta is how far the change moves the group; ok is false without two offsets.
func (c Change) Delta() (n int64, ok bool) {
	if c.Prior == nil || c.New == nil {
		return 0, false
	}
	return c.New.Offset - c.Prior.Offset, true
}
