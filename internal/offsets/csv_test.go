package offsets

import (
	"encoding/hex"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kcm-cli/kcm/internal/fault"
)

// javaLines are the lines of testdata/group_csv.txt with that first word, their
// texts as they are.
func javaLines(t *testing.T, word string) (list [][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/group_csv.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); f[0] == word {
			list = append(list, f[1:])
		}
	}
	return list
}

func plain(t *testing.T, field string) string {
	t.Helper()
	if field == "-" {
		return ""
	}
	b, err := hex.DecodeString(field)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func numberIn(t *testing.T, field string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(field, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What is written is, byte for byte, what Kafka's own tools write, and is read
// back.
func TestCSVIsWrittenAsKafkasToolsDo(t *testing.T) {
	lines := javaLines(t, "w")
	if len(lines) < 800 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, f := range lines {
		l := ListedOffset{Group: plain(t, f[0]), Partition: Partition{Topic: plain(t, f[1]), Partition: int32(numberIn(t, f[2]))}, Offset: numberIn(t, f[3]), Line: 1} //nolint:gosec // Java's int
		for i, grouped := range []bool{true, false} {
			got := string(AppendCSV(nil, &l, grouped))
			if want := plain(t, f[4+i]); got != want {
				t.Errorf("%+v is written %q, by Java %q", l, got, want)
			}
			if grouped && l.Group == "" || l.Offset < 0 || strings.HasPrefix(got, "\ufeff") { // the mark of a UTF-8 file
				continue
			}
			list, err := ReadListing(strings.NewReader(got+"\n"), "x")
			if err != nil {
				t.Errorf("%q: %v", got, err)
				continue
			}
			want := l
			if !grouped {
				want.Group = ""
			}
			if diff := cmp.Diff([]ListedOffset{want}, list.Entries); diff != "" || list.Grouped != grouped {
				t.Errorf("%q is read\n%s", got, diff)
			}
		}
	}
}

// readByJavaOnly are lines that Kafka's own tools read, and kcm refuses: they make
// up an offset of 0, drop a field, or take what cannot be.
var readByJavaOnly = []string{
	",0,1", ",t,0,1", "t,,1", "t,0,", "t,0", "t", "t,0,1,", "g,t,0,1,", "t,x,1", "t,0.5,1", "t,+0,1", "t,-1,1", "t,0,-1", "t,2147483648,1",
	"t\t0\t1", "t;0;1", "t,0x10,1", "t,1_0,1", `g, "t",0,1`,
}

// What Kafka's own tools read from a line is what kcm reads, or it refuses it.
func TestCSVIsReadAsKafkasToolsDo(t *testing.T) {
	var refused []string
	for _, f := range javaLines(t, "r") {
		line := plain(t, f[0])
		list, err := ReadListing(strings.NewReader(line+"\n"), "x.csv")
		if err != nil {
			if fault.KindOf(err) != fault.Usage || !strings.HasPrefix(err.Error(), "x.csv:") {
				t.Errorf("%q: %v", line, err)
			}
			if f[1] != "0" {
				refused = append(refused, line)
			}
			continue
		}
		var want ListedOffset
		want.Line = 1
		switch f[1] {
		case "4":
			want.Group, want.Topic, want.Partition.Partition, want.Offset = plain(t, f[2]), plain(t, f[3]), int32(numberIn(t, f[4])), numberIn(t, f[5]) //nolint:gosec // Java's int
		case "3":
			want.Topic, want.Partition.Partition, want.Offset = plain(t, f[2]), int32(numberIn(t, f[3])), numberIn(t, f[4]) //nolint:gosec // Java's int
		default:
			t.Errorf("%q is read: %+v", line, list.Entries)
			continue
		}
		if strings.HasPrefix(line, "\ufeff") {
			want.Topic = "t" // Java takes the mark of a UTF-8 file for a part of the name
		}
		if diff := cmp.Diff([]ListedOffset{want}, list.Entries); diff != "" || list.Grouped != (f[1] == "4") {
			t.Errorf("%q is read\n%s", line, diff)
		}
	}
	slices.Sort(refused)
	if want := slices.Sorted(slices.Values(readByJavaOnly)); !slices.Equal(refused, want) {
		t.Errorf("refused are\n%q, want\n%q", refused, want)
	}
}

func TestListings(t *testing.T) {
	at := func(line int, group, topic string, partition int32, offset int64) ListedOffset {
		return ListedOffset{Group: group, Partition: Partition{Topic: topic, Partition: partition}, Offset: offset, Line: line}
	}
	for _, tt := range []struct {
		name, text string
		want       []ListedOffset
	}{
		{"lines of Windows, and empty ones", "\xef\xbb\xbft,0,1\r\n\r\n \t\nt,1,2\r\n\n", []ListedOffset{at(1, "", "t", 0, 1), at(4, "", "t", 1, 2)}},
		{"no end of the last line", "g,t,0,1\ng,t,1,2", []ListedOffset{at(1, "g", "t", 0, 1), at(2, "g", "t", 1, 2)}},
		{"a name with line ends", "\"a\nb\r\n\",t,0,1\ng,t,0,2\n", []ListedOffset{at(1, "a\nb\r\n", "t", 0, 1), at(4, "g", "t", 0, 2)}},
		{"bytes that are not UTF-8", "g\xff\xfe,t,0,1\n", []ListedOffset{at(1, "g\xff\xfe", "t", 0, 1)}},
		{"a name like JSON", "{},t,0,1\n{,t,0,2\n", []ListedOffset{at(1, "{}", "t", 0, 1), at(2, "{", "t", 0, 2)}},
		{"the same partition of two groups", "g,t,0,1\nh,t,0,1\n", []ListedOffset{at(1, "g", "t", 0, 1), at(2, "h", "t", 0, 1)}},
		{"JSON", `{"failed":[{"cluster":"x"}],"groups":[
			{"partitions":[
				{"topic":"t","partition":1,"offset":7,"metadata":"m","more":{"a":[1]}},
				{"topic":"t","partition":2,"offset":8,"metadata":"/w==","metadata_encoding":"base64"}],"cluster":"east","group":"g"},
			{"group":"Zf8=","group_encoding":"base64","cluster":"west","partitions":[{"topic":"u","partition":0,"offset":0,"metadata":null}]}]}` + "\n", []ListedOffset{
			{"east", "g", Partition{Topic: "t", Partition: 1}, 7, "m", 3},
			{"east", "g", Partition{Topic: "t", Partition: 2}, 8, "\xff", 4},
			{"west", "e\xff", Partition{Topic: "u"}, 0, "", 5},
		}},
	} {
		list, err := ReadListing(strings.NewReader(tt.text), "x")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, list.Entries); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

func TestListingsThatAreWrong(t *testing.T) {
	const entry = `{"groups":[{"cluster":"c","group":"g","partitions":[`
	for text, want := range map[string]string{
		"":                                "x: there are no offsets in it",
		"\n\n":                            "x: there are no offsets in it",
		"topic,partition,offset\nt,0,1\n": "x:1: names of fields stand here: such a file has none | take the line out",
		"group,topic,partition,offset\n":  "x:1: names of fields stand here: such a file has none | take the line out",
		"t,0,1\ng,t,0,1\n":                "x:2: the line has 4 fields, those before it have 3 | all lines are topic,partition,offset, or group,topic,partition,offset",
		"t,0,1\n\nError: no group\n":      "x:3: the line has one field, those before it have 3 | kafka-consumer-groups writes its messages among the offsets; take them out",
		"t,0\n":                           "x:1: the line has 2 fields | lines are topic,partition,offset, or group,topic,partition,offset",
		"t,0,x\n":                         `x:1: the offset is "x", which is no number`,
		"t,0,1\nt,0x1,1\n":                `x:2: the partition is "0x1", which is no number`,
		"t,0,-1\n":                        "x:1: the offset is -1: below zero there is none",
		"t,4294967296,1\n":                `x:1: the partition is "4294967296", which is no number`,
		"t,0,9223372036854775808\n":       `x:1: the offset is "9223372036854775808", which is no number`,
		"g,t,0,1\nh,t,0,1\ng,t,0,1\n":     `x:3: group "g", t, partition 0: it is in line 1 already | take one of the two out`,
		"t,0,1\nt,00,2\n":                 "x:2: t, partition 0: it is in line 1 already | take one of the two out",
		"t,0,1\n\"t\n,0,1\n":              `x:2: a quote is not closed | a quote within a field is written twice: "a""b"`,
		"\"t\"x,0,1\n":                    `x:1: something stands between a closing quote and the comma | a quote within a field is written twice: "a""b"`,
		"g, \"t\",0,1\n":                  "x:1: there is a blank before a quote | a field in quotes begins with them",
		",t,0,1\n":                        "x:1: the group has no name",
		",0,1\n":                          "x:1: the topic has no name",
		"{}":                              "x:1: there are no groups in it | kcm offsets export -o json writes what is read here; a snapshot is for kcm offsets rollback",
		`{"groups":[]}`:                   "x: there are no offsets in it",
		"{\"groups\":\n{}}":               "x:2: there should be an array",
		`{"groups":[1]}`:                  "x:1: there should be an object",
		"{\"groups\":[\n":                 "x:1: unexpected end of JSON input",
		"{\"groups\":[\n}":                "x:2: invalid character '}' looking for beginning of value",
		`{"groups":[{"partitions":[]}]}`:  "x:1: the group has no name",
		entry + "\n{}]}]}":                "x:2: the topic has no name",
		entry + "\n{\"topic\":\"t\"}]}]}": "x:2: the partition is missing",
		entry + "\n\n" + `{"topic":"t","partition":0,"committed":1}]}]}`:                                        "x:3: the offset is missing | kcm offsets export -o json writes what is read here",
		entry + `{"topic":"t","partition":0,"offset":"1"}]}]}`:                                                  "x:1: offset is a string here: it should be a whole number that fits",
		entry + `{"topic":"t","partition":0,"offset":1.5}]}]}`:                                                  "x:1: offset is a number 1.5 here: it should be a whole number that fits",
		entry + `{"topic":"t","partition":-1,"offset":1}]}]}`:                                                   "x:1: the partition is -1: below zero there is none",
		entry + `{"topic":"t","partition":0,"offset":-1}]}]}`:                                                   "x:1: the offset is -1: below zero there is none",
		entry + `{"topic":"t","partition":0,"offset":1,"metadata":"?","metadata_encoding":"base64"}]}]}`:        `x:1: "?" is no base64`,
		entry + `{"topic":"t","partition":0,"offset":1,"metadata":"?","metadata_encoding":"rot13"}]}]}`:         `x:1: "rot13" is no encoding that kcm knows`,
		entry + `{"topic":"t","partition":0,"offset":1},` + "\n" + `{"topic":"t","partition":0,"offset":1}]}]}`: `x:2: group "g", t, partition 0: it is in line 1 already | take one of the two out`,
		entry + `{"topic":"t","partition":0,"offset":1}]}]}` + "\n x":                                           "x:2: invalid character 'x' after top-level value",
		"{\"groups\":\n[{\"group\":\"\xff\"}]}":                                                                 "x:2: JSON has to be UTF-8",
	} {
		_, err := ReadListing(strings.NewReader(text), "x")
		if err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := err.Error()
		if hint := fault.HintOf(err); hint != "" {
			got += " | " + hint
		}
		if got != want {
			t.Errorf("%q:\n%s, want\n%s", text, got, want)
		}
	}
}

// FuzzListing: what can be read can be written and is then the same.
func FuzzListing(f *testing.F) {
	for _, s := range []string{
		"t,0,1\n", "\"a,\"\"b\nc\",t,0,1\r\n\r\n", "g,t,0,1\ng,t,1,2", "\xef\xbb\xbf t , 0 ,1", "t,0,", `{"groups":[{"cluster":"c","group":"g","partitions":[{"topic":"t","partition":0,"offset":1,"metadata":"m"}]}]}`,
		`{"groups":[{"group":"/w==","group_encoding":"base64","partitions":[{"topic":"t","partition":0,"offset":1}]}]}`, "{\"a\":[{}]}x", "{},t,0,1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadListing(strings.NewReader(text), "x")
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		var csv []byte
		for i := range list.Entries {
			l := &list.Entries[i]
			if list.Grouped && l.Group == "" || l.Topic == "" || l.Partition.Partition < 0 || l.Offset < 0 || l.Line < 1 {
				t.Fatalf("%q: %+v", text, l)
			}
			l.Line, l.Metadata, l.Cluster = 0, "", ""
			csv = AppendCSV(csv, l, list.Grouped)
		}
		if strings.HasPrefix(string(csv), "\ufeff") {
			return
		}
		again, err := ReadListing(strings.NewReader(string(csv)), "y")
		if err != nil {
			if list.JSON { // two clusters may have one group each
				return
			}
			t.Fatalf("%q was written %q: %v", text, csv, err)
		}
		for i := range again.Entries {
			again.Entries[i].Line = 0
		}
		if diff := cmp.Diff(list.Entries, again.Entries); diff != "" {
			t.Fatalf("%q was written %q\n%s", text, csv, diff)
		}
	})
}
