// Package mirror knows how Apache Kafka's MirrorMaker 2 names topics and what
// the records of its own topics look like: checkpoints, offset syncs and
// heartbeats (KIP-382; connect/mirror and connect/mirror-client in Kafka's
// sources). It is about bytes and names only; it must not read or write
// anything, nor decide what becomes of an offset.
package mirror
