package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// topicWord is followed by create, delete or ends, a broker and a topic; ends
// prints how many offsets the topic holds.
const topicWord = "topic"

func topicMain(ctx context.Context, args []string, stdout, _ io.Writer) error {
	if len(args) != 3 {
		return errors.New("topic takes create|delete|ends BOOTSTRAP TOPIC")
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(args[1]))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm, topic := kadm.NewClient(cl), args[2]
	switch args[0] {
	case "create":
		return makeTopic(ctx, adm, topic)
	case "delete":
		_, err = adm.DeleteTopic(ctx, topic)
		return err
	}
	n, err := endsOf(ctx, adm, topic)
	fmt.Fprintln(stdout, n)
	return err
}

// prepareTopic makes the topic if it is missing and returns how many offsets it holds.
func prepareTopic(ctx context.Context, adm *kadm.Client, topic string) (int64, error) {
	topics, err := adm.ListTopics(ctx, topic)
	if err != nil {
		return 0, err
	}
	if !topics.Has(topic) {
		return 0, makeTopic(ctx, adm, topic)
	}
	return endsOf(ctx, adm, topic)
}

// makeTopic returns when the broker shows the topic with all its leaders: a
// program that asks earlier may be told that it does not exist.
func makeTopic(ctx context.Context, adm *kadm.Client, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := adm.CreateTopic(ctx, partitions, 1, nil, topic); err != nil {
		return fmt.Errorf("make %s: %w", topic, err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		topics, err := adm.ListTopics(ctx, topic)
		if err != nil {
			return err
		}
		led := 0
		for _, p := range topics[topic].Partitions {
			if p.Err == nil && p.Leader >= 0 {
				led++
			}
		}
		if led == partitions {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s has %d leaders: %w", topic, led, ctx.Err())
		case <-tick.C:
		}
	}
}

func endsOf(ctx context.Context, adm *kadm.Client, topic string) (int64, error) {
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, err
	}
	if err := ends.Error(); err != nil {
		return 0, err
	}
	var sum int64
	ends.Each(func(l kadm.ListedOffset) { sum += l.Offset })
	return sum, nil
}
