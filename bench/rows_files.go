package main

const splitFiles = dirMark + "/{cluster}-{topic}-{partition}.json"

// filesFlags are what the rows over files need of kcm.
func filesFlags(c *contender) { c.flags = []string{"-O", "--state"} }

// filesRow writes files whose positions are kept, so that a crash and a restart
// give each record once.
func (k *kit) filesRow() row {
	w := k.work("small-lz4")
	const files, file, synced = "kcm -J --state S -O …", "kcm -J > file", "kcm -J > file; sync file"
	sync := piped(synced, k.kcmOn(w, "", "-J")).with(func(c *contender) {
		c.argv[len(c.argv)-1] += " > " + dirMark + "/out.json && sync " + dirMark + "/out.json"
		c.out, c.counts = toNone, byFiles
	})
	return row{
		name:  "files",
		title: "Files with a state file",
		note:  "A file of its own for each partition, against one file by the shell, in the same directory. What is promised after a crash may need the disk, which the shell's file does not wait for; sync does.",
		contenders: []contender{
			k.kcmOn(w, file, "-J").with(func(c *contender) { c.out, c.counts = toFile, byFiles }),
			k.kcmOn(w, files, "-J", "--state", dirMark+"/"+stateFile, "-O", splitFiles).with(filesFlags).with(ownFiles),
			sync,
		},
		bars: []promise{
			{"time, kcm --state -O : kcm > file", times, files, file, 1.3},
			{"CPU, kcm --state -O : kcm > file", cpus, files, file, 0},
			{"time, kcm --state -O : kcm > file; sync file", times, files, synced, 0},
		},
	}
}

func ownFiles(c *contender) { c.out, c.counts = toNone, byFiles }

// packedFilesRow has kcm compress the files against one program behind a pipe.
func (k *kit) packedFilesRow() row {
	w := k.work("some")
	packed := func(name, suffix string) contender {
		return k.kcmOn(w, name, "-J", "--state", dirMark+"/"+stateFile, "-O", splitFiles+suffix).with(filesFlags).with(ownFiles)
	}
	piping := func(name, program, suffix string) contender {
		return piped(name, k.kcmOn(w, "", "-J"), program).with(func(c *contender) {
			c.argv[len(c.argv)-1] += " > " + dirMark + "/out.json" + suffix
		}).with(ownFiles)
	}
	const gz, zst, gzip, zstd = "kcm --state S -O ….gz", "kcm --state S -O ….zst", "kcm -J | gzip", "kcm -J | zstd"
	slow := func(c *contender) { c.slow = true }
	return row{
		name:  "files/packed",
		title: "Compressed files",
		note:  "gzip and zstd at their own default levels; sizes may differ. Fewer records, because gzip is slow.",
		contenders: []contender{
			packed(gz, ".gz").with(slow), piping(gzip, "gzip -c", ".gz").with(slow),
			packed(zst, ".zst"), piping(zstd, "zstd -q -c", ".zst"),
		},
		bars: []promise{
			{"rate, kcm -O ….gz : kcm | gzip", rate, gz, gzip, 0},
			{"rate, kcm -O ….zst : kcm | zstd", rate, zst, zstd, 0},
		},
	}
}
