package main

const kcmGroup = "kcm -J -g GROUP"

// grouped has a run join a group that no other run joins.
func grouped(c *contender) { c.flags = []string{"-g"} }

var groupArgs = []string{"-J", "-g", "kcm-bench-" + runMark}

func (k *kit) groupRow() row {
	w := k.work("half")
	const raw, rawGroup = "kcm -f raw", "kcm -f raw -g GROUP"
	return row{
		name:  "group",
		title: "A group on two clusters",
		note:  "Each run joins a new group on both clusters, reads all, commits, and leaves. The brokers do not delay the first rebalance (group.initial.rebalance.delay.ms=0; Kafka's default is 3 s).",
		contenders: []contender{
			k.kcmOn(w, kcmJSON, "-J"),
			k.kcmOn(w, kcmGroup, groupArgs...).with(grouped),
			k.kcmOn(w, raw, "-f", "raw"),
			k.kcmOn(w, rawGroup, "-f", "raw", "-g", "kcm-bench-"+runMark).with(grouped),
		},
		bars: []promise{
			{"time, kcm -J -g : kcm -J, two clusters", times, kcmGroup, kcmJSON, 1.15},
			{"time, kcm -f raw -g : kcm -f raw, two clusters", times, rawGroup, raw, 0},
		},
	}
}

func (k *kit) clustersRow() row {
	whole, half := k.work("small-lz4"), k.work("half")
	const one, two, group = "kcm -J, one cluster", "kcm -J, two clusters", "kcm -J -g, one cluster"
	return row{
		name:  "two-clusters",
		title: "Two clusters with the total of one",
		note:  "Both brokers share the machine.",
		contenders: []contender{
			k.kcmOn(whole, one, "-J"),
			k.kcmOn(half, two, "-J"),
			k.kcmOn(whole, group, groupArgs...).with(grouped),
		},
		bars: []promise{
			{"time, two clusters : one", times, two, one, 1.15},
			{"time, -g : without, one cluster", times, group, one, 1.15},
		},
	}
}

func (k *kit) orderRow() row {
	w := k.work("half")
	const ordered, raw = "kcm --order timestamp -f raw", "kcm -f raw"
	return row{
		name:  "order",
		title: "A merge by timestamp over 24 splits",
		note:  "Neighbours in time always lie in different partitions: the merge's worst case.",
		contenders: []contender{
			k.kcmOn(w, ordered, "-f", "raw", "--order", "timestamp").with(func(c *contender) { c.flags = []string{"--order"} }),
			k.kcmOn(w, raw, "-f", "raw"),
		},
		bars: []promise{
			{"million records/s, kcm --order timestamp", speed, ordered, "", 2},
			{"time, kcm --order timestamp : kcm", times, ordered, raw, 0},
		},
	}
}
