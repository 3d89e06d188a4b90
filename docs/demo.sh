#!/bin/sh
# make demo: two Kafka-compatible clusters in one process, one stream over both.
# Needs only kcm on the PATH; uses jq as the filter if it is there.
set -eu

records=200
if [ "${1:-}" != inside ]; then
	exec kcm sandbox --clusters east,west --topics orders:3 --records $records -- sh "$0" inside
fi

say() { printf '\n== %s\n' "$*"; }
die() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}
# run prints a command line, runs it, and wants it to print something.
run() {
	printf '$ %s\n' "$1"
	out=$(sh -c "$1") || die "that failed"
	[ -n "$out" ] || die "that printed nothing"
	printf '%s\n' "$out"
}

say "kcm sandbox started two clusters, east and west, each with a topic orders of
   3 partitions, and wrote this metadata file: one stream, orders, over both."
cat "$KCM_METADATA"

say "The first record of each partition, on both clusters, as text."
run "kcm consume orders -o 0:1 -f text"

say "The whole stream as JSON, one record a line, through a filter: large orders."
if command -v jq >/dev/null 2>&1; then
	run "kcm consume orders -e -J | jq -r 'select(.value.total > 1200) | [.cluster, .partition, .offset, .value.total] | @tsv'"
else
	run "kcm consume orders -e -J | grep -E '\"total\":[0-9]{4}' | cut -c 1-110     # jq is not installed"
fi

say "How many records each partition of each cluster holds, in a format of one's own."
run "kcm consume orders -e -f '%c/%t/%p\n' | sort | uniq -c"
total=$(printf '%s\n' "$out" | awk '{n += $1} END {print n}')
[ "$total" -eq $((2 * records)) ] || die "$total records, not $((2 * records))"

say "Done. The clusters end with this script; kcm sandbox alone keeps them running."
