package main

import "fmt"

// rows are all comparisons, in the order of the report.
func (k *kit) rows() []row {
	small, zstd := k.work("small-lz4"), k.work("small-zstd")
	big, bigZstd := k.work("big-lz4"), k.work("big-zstd")
	some := k.work("some")
	return []row{
		k.rawRow(small, toNull), k.rawRow(small, toPipe), k.rawRow(zstd, toNull),
		k.rawRow(big, toNull), k.rawRow(big, toPipe), k.rawRow(bigZstd, toNull),
		k.jsonRow(small, toNull), k.jsonRow(some, toPipe), k.jsonRow(zstd, toNull),
		k.jsonRow(big, toNull), k.jsonRow(big, toPipe), k.jsonRow(bigZstd, toNull),
		k.smallBatchesRow(),
		k.avroRow(), k.protobufRow(),
		k.grepRow(), k.whereRow(), k.jqRow(),
		k.filesRow(), k.packedFilesRow(),
		k.copyRow(), k.changedCopyRow(),
		k.groupRow(), k.clustersRow(), k.orderRow(), k.lagRow(), k.translateRow(),
		k.memoryRow(), k.latencyRow(),
	}
}

// suffix tells rows over the null device and over a pipe apart.
func suffix(out place) string {
	if out == toPipe {
		return "/pipe"
	}
	return ""
}

// to has every contender write to one place.
func to(out place, cs ...contender) []contender {
	for i := range cs {
		cs[i].out = out
	}
	return cs
}

func (k *kit) rawRow(w work, out place) row {
	return row{
		name:  "raw/" + w.Name + suffix(out),
		title: fmt.Sprintf("Stored values, %s, to the %s", w.Name, out),
		note:  "The kgo loop decodes its fetches and counts records; it writes nothing.",
		contenders: to(out,
			k.kcmOn(w, kcmRaw, "-f", "raw"),
			k.kcatOn(w, kcatRaw),
			k.loopOn(w),
		),
		bars: []promise{
			{"rate, kcm -f raw : kcat", rate, kcmRaw, kcatRaw, 4},
			{"time, kcm -f raw : kgo loop", times, kcmRaw, kgoLoop, 0.5},
			{"CPU, kcm -f raw : kcat", cpus, kcmRaw, kcatRaw, 1.0 / 3},
			{"peak MB, kcm -f raw", peak, kcmRaw, "", 120},
		},
	}
}

func (k *kit) jsonRow(w work, out place) row {
	slow := func(c *contender) { c.slow = true }
	return row{
		name:  "json/" + w.Name + suffix(out),
		title: fmt.Sprintf("JSON, %s, to the %s", w.Name, out),
		note:  "kcat writes the value as a string of JSON, kcm checks and embeds it; the console consumer writes the values only.",
		contenders: to(out,
			k.kcmOn(w, kcmJSON, "-J"),
			k.kcatOn(w, kcatJSON, "-J").with(slow),
			k.consoleOn(w),
		),
		bars: []promise{
			{"rate, kcm -J : kcat -J", rate, kcmJSON, kcatJSON, 12},
			{"rate, kcm -J : console consumer", rate, kcmJSON, console, 8},
			{"CPU, kcm -J : kcat -J", cpus, kcmJSON, kcatJSON, 1.0 / 3},
			{"peak MB, kcm -J", peak, kcmJSON, "", 120},
		},
	}
}

// smallBatchesRow is there because large batches are kcm's best case.
func (k *kit) smallBatchesRow() row {
	w := k.work("java")
	return row{
		name:  "small-batches",
		title: "Batches of 16 KiB, the Java producer's default",
		note:  "The other topics' batches are as large as a broker takes them, which suits a reader of whole batches; these are not. The run is short, so starting up weighs more.",
		contenders: []contender{
			k.kcmOn(w, kcmRaw, "-f", "raw"), k.kcatOn(w, kcatRaw), k.loopOn(w), k.kcmOn(w, kcmJSON, "-J"),
		},
		bars: []promise{
			{"rate, kcm -f raw : kcat", rate, kcmRaw, kcatRaw, 0},
			{"time, kcm -f raw : kgo loop", times, kcmRaw, kgoLoop, 0},
			{"rate, kcm -J : kcat", rate, kcmJSON, kcatRaw, 0},
		},
	}
}

// memoryRow reads batches of 1 MiB that are 4 MiB when decompressed.
func (k *kit) memoryRow() row {
	w := k.work("wide")
	stalled := func(c *contender) { c.out, c.stall, c.slow = toPipe, k.o.stall, true }
	const flows, stalls, rawStalls = "kcm -J", "kcm -J, reader stalls", "kcm -f raw, reader stalls"
	return row{
		name:  "memory",
		title: "Memory with batches of 4 MiB",
		note:  fmt.Sprintf("A reader that stalls takes nothing from the pipe for the first %s, and all of it then. The wall time contains that.", k.o.stall),
		contenders: []contender{
			k.kcmOn(w, flows, "-J"),
			k.kcmOn(w, stalls, "-J").with(stalled),
			k.kcmOn(w, rawStalls, "-f", "raw").with(stalled),
			k.kcatOn(w, kcatRaw),
		},
		bars: []promise{
			{"peak MB, kcm -J", peak, flows, "", 150},
			{"peak MB, kcm -J, reader stalls", peak, stalls, "", 150},
			{"peak MB, kcm -f raw, reader stalls", peak, rawStalls, "", 150},
		},
	}
}
