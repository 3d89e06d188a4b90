// Package offsets knows the committed offsets of consumer groups: it reads them
// with their lag, plans changes and carries them out, and translates them from one
// cluster to another. It owns the forms in which offsets are exported and the
// snapshots that undo a change. It joins no group, and says nothing to a user.
package offsets
