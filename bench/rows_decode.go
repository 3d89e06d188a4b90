package main

import "strconv"

const (
	kcmDecoded = "kcm -f json"
	decodeLoop = "library loop"
)

// decodeRow has values decoded by a schema. limit bounds the time that takes, as
// a multiple of writing the stored bytes.
func (k *kit) decodeRow(encoding, library string, limit float64) row {
	w := k.work(encoding)
	return row{
		name:  "decode/" + encoding,
		title: "Values decoded by their schema, " + encoding,
		note:  "The loop polls with kgo, decodes with " + library + ", and writes the values alone; kcm -f json writes whole records. Each asks the registry once. -f raw decodes nothing.",
		contenders: []contender{
			k.kcmOn(w, kcmRaw, "-f", "raw").with(func(c *contender) { c.counts = bySummary }),
			k.kcmOn(w, kcmDecoded, "-f", "json").with(k.withRegistry),
			k.decodeLoopOn(w, encoding),
		},
		bars: []promise{
			{"time, kcm -f json : kcm -f raw", times, kcmDecoded, kcmRaw, limit},
			{"rate, kcm -f json : library loop", rate, kcmDecoded, decodeLoop, 3},
			{"CPU, kcm -f json : library loop", cpus, kcmDecoded, decodeLoop, 0},
			{"peak MB, kcm -f json", peak, kcmDecoded, "", 0},
		},
	}
}

func (k *kit) avroRow() row {
	return k.decodeRow("avro", "twmb/avro into map[string]any and encoding/json", 2.5)
}

func (k *kit) protobufRow() row {
	return k.decodeRow("protobuf", "dynamicpb and protojson", 3)
}

func (k *kit) withRegistry(c *contender) {
	c.flags = append(c.flags, "--registry")
	if c.argv != nil {
		c.argv = append(c.argv, "--registry", registryMark)
	}
}

// decodeLoopOn is what one would write with the libraries at hand.
func (k *kit) decodeLoopOn(w work, encoding string) contender {
	return contender{
		name: decodeLoop, argv: []string{k.decoder, encoding, k.o.east, w.topic(), strconv.Itoa(w.Records), registryMark},
		work: w, out: toNull, slow: true,
	}
}
