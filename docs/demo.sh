#!/bin/sh
# make demo: two Kafka-compatible clusters in one process, one stream over both,
# and then a stream that moves while it is read.
# Needs only kcm on the PATH; uses jq as the filter if it is there.
set -eu

records=200
case ${1:-} in
'')
	kcm sandbox --clusters east,west --topics orders:3 --records $records -- sh "$0" reading
	exec kcm sandbox --clusters east,west --topics orders:3,orders-late:1 --rate 25/s -- sh "$0" following
	;;
esac

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

# reading shows one stream that lives on two clusters.
reading() {
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
}

# awaits waits until a line of a file matches a pattern, for as long as a slow
# machine may need.
awaits() {
	tries=0
	until grep -q -- "$2" "$1"; do
		kill -0 "$follow" 2>/dev/null || die "kcm consume has ended: $(cat follow.err)"
		tries=$((tries + 1))
		[ $tries -lt 150 ] || die "nothing like \"$2\" came: $(cat follow.err)"
		sleep 0.2 2>/dev/null || sleep 1
	done
}
# publish puts a new version of the metadata in place, whole.
publish() {
	cat >next.yaml
	mv next.yaml kcm.yaml
	cat kcm.yaml
}
# address is that of one of the sandbox's clusters.
address() { sed -n "/^  $1:/{n;s/.*\"\(.*\)\".*/\1/p;}" "$KCM_METADATA"; }

# following changes a stream while it is read, and counts what came.
following() {
	dir=$(mktemp -d)
	follow=
	trap 'status=$?; [ -z "$follow" ] || kill "$follow" 2>/dev/null || :; rm -rf "$dir"; exit $status' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	cd "$dir"
	east=$(address east) west=$(address west)

	say "A stream that moves. The clusters are new ones; producers write 25 records a
   second to each topic, all the time. This is what the stream is now:"
	publish <<END
clusters:
  east: {bootstrap: "$east"}
  west: {bootstrap: "$west"}
streams:
  orders:
    sources:
      - {cluster: east, topics: [orders]}
      - {cluster: west, topics: [orders]}
END

	say "It is read from the start, in the background, and goes on being read below."
	printf '$ %s\n' "kcm -m kcm.yaml consume orders -o start -f '%c/%t/%p %o\n' >follow.out 2>follow.err &"
	kcm -m kcm.yaml consume orders -o start -f '%c/%t/%p %o\n' >follow.out 2>follow.err &
	follow=$!
	awaits follow.out '^east/orders/0 9$'
	awaits follow.out '^west/orders/0 9$'

	say "A third topic joins: the file is replaced by this one."
	publish <<END
clusters:
  east: {bootstrap: "$east"}
  west: {bootstrap: "$west"}
streams:
  orders:
    sources:
      - {cluster: east, topics: [orders]}
      - {cluster: west, topics: [orders, orders-late]}
END
	awaits follow.err '^+ west/orders-late '
	awaits follow.out '^west/orders-late/0 9$'

	say "East leaves. What is in its topic is read to the end first."
	publish <<END
clusters:
  west: {bootstrap: "$west"}
streams:
  orders:
    sources:
      - {cluster: west, topics: [orders, orders-late]}
END
	awaits follow.err '^- east/orders drained at '
	last=$(grep -c '^west/orders-late/0 ' follow.out)
	awaits follow.out "^west/orders-late/0 $((last + 25))\$" # west goes on

	say "The follow is stopped. This is what it said on stderr:"
	kill "$follow"
	wait "$follow" || die "kcm consume ended with exit code $?"
	follow=
	cat follow.err

	say "And what it wrote: for each partition, how many records, and from which offset
   to which. Records from 0 to N without a hole are N + 1, and each came once."
	awk '
		!($1 in count) { first[$1] = $2; last[$1] = $2 - 1 }
		$2 != last[$1] + 1 { printf "%s: offset %d came after %d\n", $1, $2, last[$1]; bad = 1 }
		{ count[$1]++; last[$1] = $2 }
		END {
			for (part in count) {
				printf "%-22s %4d records, offsets %d to %d\n", part, count[part], first[part], last[part]
				if (first[part] != 0 || count[part] != last[part] + 1) bad = 1
				n++
			}
			if (n != 7) { printf "%d partitions, not 7\n", n; bad = 1 }
			exit bad
		}' follow.out >counts || die "records were lost or repeated: $(sort counts)"
	sort counts

	say "East was drained at the very offsets that it was read to."
	drained=$(sed -n 's/^- east\/orders drained at //p' follow.err)
	read_to=$(awk '/^east/ { split($1, at, "/"); after[at[3]] = $2 + 1 }
		END { printf "0:%d 1:%d 2:%d", after[0], after[1], after[2] }' follow.out)
	printf 'drained at  %s\nread up to  %s\n' "$drained" "$read_to"
	[ "$drained" = "$read_to" ] || die "these are not the same"

	say "Done. The clusters end with this script; kcm sandbox alone keeps them running."
}

"$1"
