package source

import (
	"errors"
	"slices"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
)

func someSplits(n int, topic string) (list []*split) {
	for p := range n {
		list = append(list, newSplit(&reader{name: "east"}, splitKey{topic: topic, partition: int32(p)}, nil))
	}
	return list
}

// What is the matter with many partitions is told of all together, of few each
// by itself, and once.
func TestTroubleOfManyPartitionsIsOneLine(t *testing.T) {
	var told []string
	e := &engine{Options: Options{Event: func(ev Event) { told = append(told, ev.Text) }}}
	r := newReader(e, "east", nil, nil)
	var list []lacking
	for _, s := range someSplits(9, "orders") {
		list = lack(list, s, fault.New(fault.Failed, "east/orders: no leader").WithHint("wait"))
	}
	for _, s := range someSplits(2, "payments") {
		list = lack(list, s, errors.New("east: no leader"))
	}
	want := []string{
		"east/orders, partitions 0, 1, 2 and 6 more: no leader",
		"east/payments/0: no leader",
		"east/payments/1: no leader",
	}
	for range 2 {
		var got []string
		for _, err := range r.waitsFor(list) {
			got = append(got, err.Error())
		}
		if !slices.Equal(got, want) {
			t.Errorf("errors %q, want %q", got, want)
		}
	}
	for i := range want {
		want[i] += "; trying again"
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestByTopic(t *testing.T) {
	mixed := append(someSplits(2, "b"), someSplits(3, "a")...)
	slices.Reverse(mixed)
	var got []string
	for _, splits := range byTopic(mixed) {
		got = append(got, placeOf(splits))
	}
	if want := []string{"east/a, partitions 0, 1, 2", "east/b, partitions 0, 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
