#!/bin/sh
# make demo: two Kafka-compatible clusters in one process, one stream over both.
# Needs only kcm on the PATH; uses jq for the filter if it is there.
set -eu

if [ "${1:-}" != inside ]; then
	exec kcm sandbox --clusters east,west --topics orders:3 --records 200 -- sh "$0" inside
fi

say() { printf '\n== %s\n' "$*"; }
show() {
	printf '$ %s\n' "$*"
	"$@"
}

say "kcm sandbox started two clusters, east and west, each with a topic orders of"
echo "   3 partitions, and wrote this metadata file: one stream, orders, over both."
cat "$KCM_METADATA"

say "The first records of the stream, in the order of their time, as text."
show kcm consume orders -e --order timestamp -n 8 -f text

say "The whole stream as JSON, one record a line, counted by cluster and partition."
if command -v jq >/dev/null 2>&1; then
	echo '$ kcm consume orders -e -J | jq -r "[.cluster, .partition] | @tsv" | sort | uniq -c'
	counts=$(kcm consume orders -e -J | jq -r '[.cluster, .partition] | @tsv' | sort | uniq -c)
else
	echo "\$ kcm consume orders -e -f '%c %p\\n' | sort | uniq -c        # jq would do it with -J"
	counts=$(kcm consume orders -e -f '%c %p\n' | sort | uniq -c)
fi
echo "$counts"
for cluster in east west; do
	if ! echo "$counts" | grep -q "$cluster"; then
		echo "demo: no record of cluster $cluster" >&2
		exit 1
	fi
done

say "The last three records of east alone, in a format of one's own."
show kcm consume orders -c east -e --tail 3 -f '%c/%t/%p@%o  %k = %v\n'

say "Done. The clusters end with this script; \`kcm sandbox\` keeps them for you."
