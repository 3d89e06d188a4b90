package kafkatest

import (
	_ "embed"
	"encoding/base64"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed GroupCommands.java
var groupCommands []byte

// GroupCommand is what a run of kafka-consumer-groups came to. It ends with 0 for
// most of what goes wrong, and writes errors among its results.
type GroupCommand struct {
	Code     int
	Out, Err string
}

// GroupCommands runs Apache's kafka-consumer-groups with each of the lists of
// arguments, one after the other in one process. It needs a real rig.
func (c *Cluster) GroupCommands(calls ...[]string) []GroupCommand {
	c.t.Helper()
	c.needReal("GroupCommands")
	source := filepath.Join(c.t.TempDir(), "GroupCommands.java")
	c.check(os.WriteFile(source, groupCommands, 0o600))
	var in strings.Builder
	for _, args := range calls {
		for i, a := range args {
			if i > 0 {
				in.WriteByte(' ')
			}
			in.WriteString(base64.StdEncoding.EncodeToString([]byte(a)))
		}
		in.WriteByte('\n')
	}
	out := strings.Split(strings.TrimSpace(runJava(c.t, []byte(in.String()), source, c.Bootstrap())), "\n")
	if len(out) != len(calls) {
		c.t.Fatalf("cluster %s: %d answers of %d runs of kafka-consumer-groups: %q", c.name, len(out), len(calls), out)
	}
	list := make([]GroupCommand, len(calls))
	for i, line := range out {
		f := strings.Fields(line)
		if len(f) != 3 {
			c.t.Fatalf("cluster %s: an answer is %q", c.name, line)
		}
		var err error
		list[i].Code, err = strconv.Atoi(f[0])
		c.check(err)
		for j, to := range []*string{&list[i].Out, &list[i].Err} {
			wrote, err := base64.StdEncoding.DecodeString(f[j+1][1:])
			c.check(err)
			*to = string(wrote)
		}
	}
	return list
}
