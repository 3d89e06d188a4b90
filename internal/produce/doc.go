// Package produce writes batches to one cluster: as they are stored elsewhere,
// with nothing new but the head, or built of single records. It owns producer
// ids, sequences, leaders and what is tried again, and learns what the topics take
// before it writes to them.
//
// Batches go through one path, whatever they come from: a partition's are written
// in the order in which they were handed over, several requests at a time, and a
// batch that is sent again has the sequence that it had, so that a broker which has
// it already does not take it twice (KIP-98). What is lost sight of for good is
// written again under a new producer id: at least once, never less.
//
// It knows neither streams nor formats, and must not read records from a cluster.
package produce
