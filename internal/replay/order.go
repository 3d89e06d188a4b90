package replay

import (
	"container/heap"
	"slices"
)

// pass is one way through files: pieces in an order in which the offsets of all
// its keys grow.
type pass struct {
	keys   []int
	pieces []int
}

// order finds passes for keys, given by the first offset that is wanted of each.
// Keys whose pieces overlap have no such order: these are to be merged.
func (f *Files) order(from map[int]int64) (passes []pass, tangled []int) {
	var keys []int
	lists := map[int][]int{}
	for key, at := range from {
		list := slices.DeleteFunc(slices.Clone(f.parts[key]), func(p int) bool { return f.part(p, key).last < at })
		switch {
		case len(list) == 0:
		case f.overlap(list, key):
			tangled = append(tangled, key)
		default:
			keys = append(keys, key)
			lists[key] = list
		}
	}
	slices.Sort(keys)
	slices.Sort(tangled)
	return passesOf(keys, lists), tangled
}

// overlap reports whether a key's records would be out of order if its pieces
// were read one after the other.
func (f *Files) overlap(list []int, key int) bool {
	last := int64(-1)
	for _, p := range list {
		one := f.part(p, key)
		if one.first < last {
			return true
		}
		last = max(last, one.last)
	}
	return false
}

// passesOf orders the pieces of keys, each of which has its own in order. Where
// the orders of two keys contradict each other, several passes are made.
func passesOf(keys []int, lists map[int][]int) []pass {
	if len(keys) == 0 {
		return nil
	}
	if pieces, ok := sorted(keys, lists); ok {
		return []pass{{keys, pieces}}
	}
	half := len(keys) / 2
	return append(passesOf(keys[:half], lists), passesOf(keys[half:], lists)...)
}

// sorted orders pieces so that those of every key are in its order; false if
// there is no such order. Otherwise they stay in the order of their numbers.
func sorted(keys []int, lists map[int][]int) (order []int, ok bool) {
	before := map[int]int{} // how many have to come before a piece
	behind := map[int][]int{}
	for _, key := range keys {
		for i, p := range lists[key] {
			before[p] += 0
			if i > 0 {
				previous := lists[key][i-1]
				behind[previous] = append(behind[previous], p)
				before[p]++
			}
		}
	}
	var ready numbers
	for p, n := range before {
		if n == 0 {
			ready = append(ready, p)
		}
	}
	heap.Init(&ready)
	for len(ready) > 0 {
		p, _ := heap.Pop(&ready).(int)
		order = append(order, p)
		for _, next := range behind[p] {
			if before[next]--; before[next] == 0 {
				heap.Push(&ready, next)
			}
		}
	}
	return order, len(order) == len(before)
}

// numbers is a heap of which the lowest comes first.
type numbers []int

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }

// Push implements heap.Interface.
func (n *numbers) Push(x any) {
	one, _ := x.(int)
	*n = append(*n, one)
}

// Pop implements heap.Interface.
func (n *numbers) Pop() any {
	last := len(*n) - 1
	one := (*n)[last]
	*n = (*n)[:last]
	return one
}
