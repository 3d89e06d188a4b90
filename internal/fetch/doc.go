// Package fetch reads one cluster's partitions as raw record batches. It sends
// Fetch requests itself, through the connections of kgo clients and never
// through kgo's consumer, and owns what the consumer would do: leaders found and
// followed, fetch sessions (KIP-227), epochs and truncation (KIP-320), topic ids
// (KIP-516), the nearest replica (KIP-392), back-off, and the byte budget that
// all clusters share. What needs a decision becomes an Event and stops its
// partition; to decide is left to whoever made the Fetcher.
//
// It looks at no record: batches are checked and dropped or handed on whole. It
// must not know streams, bounds other than an offset, files or groups.
//
// One goroutine owns the state of all partitions (loop.go). A request flies in
// a goroutine of its own (request.go), which reads the answer (answer.go), hands
// its data on and reports back. Per broker there is one tail lane with a session
// for partitions at their end (session.go), and a few bulk lanes for those that
// are behind (broker.go).
package fetch
