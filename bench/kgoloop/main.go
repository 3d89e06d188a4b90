// Command kgoloop is the yardstick of bench: the shortest honest consumer one
// can write with franz-go's kgo. "count" reads a topic from its start, counts N
// records, prints the count and ends; nothing is decoded or written. "tail" follows
// a topic from its end and writes each value and a line end, at once.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kgoloop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 4 && args[0] == "count":
		want, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return count(ctx, args[1], args[2], want)
	case len(args) == 3 && args[0] == "tail":
		return tail(ctx, args[1], args[2])
	}
	return errors.New("usage: kgoloop count BOOTSTRAP TOPIC RECORDS | kgoloop tail BOOTSTRAP TOPIC")
}

func client(bootstrap, topic string, at kgo.Offset) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(at))
}

func count(ctx context.Context, bootstrap, topic string, want int) error {
	cl, err := client(bootstrap, topic, kgo.NewOffset().AtStart())
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

// tail ends by a signal.
func tail(ctx context.Context, bootstrap, topic string) error {
	cl, err := client(bootstrap, topic, kgo.NewOffset().AtEnd())
	if err != nil {
		return err
	}
	defer cl.Close()
	out := bufio.NewWriter(os.Stdout)
	for {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			_, _ = out.Write(r.Value)
			_ = out.WriteByte('\n')
		})
		if err := out.Flush(); err != nil {
			return err
		}
	}
}
