package protobuf

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
)

// golden is a message that Python encoded, and how Python prints it.
type golden struct {
	name, message string
	payload, json []byte
}

func readGolden(t testing.TB) []golden {
	t.Helper()
	f, err := os.Open("testdata/golden/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []golden
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), "\t", 4)
		if len(parts) != 4 {
			t.Fatalf("golden.txt: %q", lines.Text())
		}
		payload, err := hex.DecodeString(parts[2])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, golden{parts[0], parts[1], payload, []byte(parts[3])})
	}
	if lines.Err() != nil || len(all) < 100 {
		t.Fatalf("golden.txt: %d messages, %v", len(all), lines.Err())
	}
	return all
}

// Every message is read as Python's Protobuf reads it: from the texts, and from
// descriptor sets with and without what they import.
func TestGolden(t *testing.T) {
	const dir = "testdata/golden/"
	for _, f := range []Files{
		{Protos: []string{dir + "proto3.proto", dir + "proto2.proto", dir + "edition2023.proto"}},
		{Sets: []string{dir + "with.binpb"}},
		{Sets: []string{dir + "without.binpb"}},
	} {
		schemas := map[string]codec.Schema{}
		for _, g := range readGolden(t) {
			if schemas[g.message] == nil {
				f.Message = g.message
				s, err := FromFiles(f, Options{})
				if err != nil {
					t.Fatal(err)
				}
				schemas[g.message] = s
			}
			got, err := schemas[g.message].AppendJSON(nil, g.payload)
			if err != nil {
				t.Errorf("%s: %v", g.name, err)
			} else if !sameJSON(t, got, g.json) || bytes.ContainsAny(got, "\n") {
				t.Errorf("%s:\n kcm    %s\n python %s", g.name, got, g.json)
			}
		}
	}
}
