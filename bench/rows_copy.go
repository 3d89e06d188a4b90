package main

import "strings"

// copyTopic is a topic of west that is made for one run.
const copyTopic = "kcm-bench-copy-" + runMark

// copies are rows that write to another cluster: what kcm does with args, against
// kcat with the filters between its two ends.
func (k *kit) copies(r row, w work, args []string, between ...string) row {
	const kcm, peer = "kcm --to", "kcat | kcat -P"
	onto := func(c *contender) {
		c.target, c.counts, c.out, c.slow = copyTopic, byTarget, toNone, true
	}
	// Both clusters have to be named for kcm, though it reads only one.
	addr, _ := k.broker(west)
	copying := k.kcmOn(w, kcm, args...).with(onto).with(func(c *contender) {
		c.argv = append(c.argv, "-c", east, "-b", west+"="+addr, "--to", west+"/"+copyTopic)
		c.flags = []string{"--to"}
	})
	peerArgs := []string{"kcat", "-b", addr, "-P", "-t", copyTopic, "-z", "lz4", "-K", "'\t'"}
	pair := piped(peer, k.kcatOn(w, "", "-K", `\t`), append(between, strings.Join(peerArgs, " "))...).with(onto)
	r.contenders = []contender{copying, pair}
	if len(between) > 0 {
		for i := range r.contenders {
			r.contenders[i].want = -1
		}
	}
	for i := range r.bars {
		r.bars[i].a, r.bars[i].b = kcm, peer
	}
	return r
}

func (k *kit) copyRow() row {
	return k.copies(row{
		name:  "to/stored",
		title: "Another cluster, records as stored",
		note:  "kcat passes keys and values through a pipe as lines: it loses headers, timestamps, partitions, the difference of null and empty, and takes a tab or a line end in a record for the end of it.",
		bars: []promise{
			{name: "rate, kcm --to : kcat | kcat -P", kind: rate, limit: 1.3},
			{name: "CPU, kcm --to : kcat | kcat -P", kind: cpus, limit: 1.0 / 3},
		},
	}, k.work("small-lz4"), nil)
}

func (k *kit) changedCopyRow() row {
	return k.copies(row{
		name:  "to/filtered",
		title: "Another cluster, filtered",
		note:  "Records with a word in their value, about a quarter, are decoded and produced again; kcm -G against grep between the two kcat.",
		bars: []promise{
			{name: "rate, kcm -G --to : kcat | grep | kcat -P", kind: rate, limit: 0.8},
			{name: "CPU, kcm -G --to : kcat | grep | kcat -P", kind: cpus, limit: 1.5},
		},
	}, k.work("some"), []string{"-G", `v:"status":"paid"`}, `grep -F '"status":"paid"'`)
}
