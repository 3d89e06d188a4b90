package main

func (k *kit) grepRow() row {
	w := k.work("small-lz4")
	const grep, kcatGrep = "kcm -G v:needle -f raw", "kcat | grep"
	hits := func(c *contender) { c.want = (w.Records + needleEvery - 1) / needleEvery }
	return row{
		name:  "grep",
		title: "A pattern over the values",
		note:  "One record of a thousand has the needle.",
		contenders: []contender{
			k.kcmOn(w, kcmRaw, "-f", "raw"),
			k.kcmOn(w, grep, "-f", "raw", "-G", "v:"+needle).with(hits),
			piped(kcatGrep, k.kcatOn(w, ""), "grep -F "+needle).with(hits).with(func(c *contender) { c.slow = true }),
		},
		bars: []promise{
			{"time, kcm -G v:needle -f raw : kcm -f raw", times, grep, kcmRaw, 1.3},
			{"rate, kcm -G : kcat | grep", rate, grep, kcatGrep, 0},
		},
	}
}

// whereRow has an expression that is decided in the raw bytes.
func (k *kit) whereRow() row {
	return k.jqAgainst(row{
		name:  "where/path",
		title: "A jq expression of comparisons on paths",
	}, `.value.status == "paid" and .value.amount > 250`, `.status == "paid" and .amount > 250`, 4)
}

// jqRow has one that needs the jq interpreter.
func (k *kit) jqRow() row {
	return k.jqAgainst(row{
		name:  "where/jq",
		title: "A jq expression that calculates",
	}, `.value.amount * 2 > 900`, `.amount * 2 > 900`, 1.2)
}

func (k *kit) jqAgainst(r row, where, query string, limit float64) row {
	w := k.work("some")
	const filtered, peer = "kcm -w … -f raw", "kcat | jq -c"
	same := func(c *contender) { c.want = -1 }
	r.note = "kcm -w '" + where + "' against kcat | jq -c 'select(" + query + ")'; fewer records, because jq is slow."
	r.contenders = []contender{
		k.kcmOn(w, filtered, "-f", "raw", "-w", where).with(same),
		piped(peer, k.kcatOn(w, ""), "jq -c "+quote([]string{"select(" + query + ")"})).with(same).with(func(c *contender) { c.slow = true }),
	}
	r.bars = []promise{
		{"rate, kcm -w : kcat | jq", rate, filtered, peer, limit},
		{"CPU, kcm -w : kcat | jq", cpus, filtered, peer, 0},
	}
	return r
}
