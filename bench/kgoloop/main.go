// Command kgoloop is the yardstick of bench: the shortest honest consumer one
// can write with franz-go's kgo. It reads a topic from its start, counts N
// records, prints the count and ends; nothing is decoded or written.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: kgoloop BOOTSTRAP TOPIC RECORDS")
		os.Exit(2)
	}
	want, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = count(context.Background(), os.Args[1], os.Args[2], want)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kgoloop:", err)
		os.Exit(1)
	}
}

func count(ctx context.Context, bootstrap, topic string, want int) error {
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	got := 0
	for got < want {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		got += fetches.NumRecords()
	}
	fmt.Fprintln(os.Stdout, got)
	return nil
}
