// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"
)

// Items are spread as applications spread them that use gomemcache.
func TestItemsAreSpreadAsByServerList(t *testing.T) {
	const items = 1000
	servers := []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}
	list := &memcache.ServerList{}
	if err := list.SetServers(servers...); err != nil {
		t.Fatal(err)
	}
	found := 0
	for i, server := range servers {
		node := &target{index: i, of: len(servers)}
		for some := range batches(node.itemsOf(0, items)) {
			found += len(some)
			for _, item := range some {
				if picked, err := list.PickServer(itemKey(item)); err != nil || picked.String() != server {
					t.Fatalf("item %d is on %s, and ServerList picks %v (%v)", item, server, picked, err)
				}
			}
		}
	}
	if found != items {
		t.Errorf("%d of %d items are on a node", found, items)
	}
}

// What was counted is told once; what a node is like stays known.
func TestReset(t *testing.T) {
	l := &load{nodes: []*target{{name: "a"}, {name: "b"}}}
	l.reset()
	l.saw(0, map[string]int{"limit_maxbytes": 64, "cmd_flush": 1, "curr_items": 7}, nil)
	l.saw(0, map[string]int{"limit_maxbytes": 128, "cmd_flush": 1, "curr_items": 9}, nil)
	l.saw(0, nil, nil)
	l.counted(1, 100, 98, nil)
	first := l.reset()
	if a := first.Nodes[0]; a.Up || a.Downs != 1 || !slices.Equal(a.Limits, []int{64, 128}) || len(a.Flushes) != 1 {
		t.Errorf("the first report of a node is %+v", a)
	}
	if first.Reads != 100 || first.Misses != 2 {
		t.Errorf("the first report has %d reads with %d misses", first.Reads, first.Misses)
	}
	second := l.read()
	if a := second.Nodes[0]; a.Downs != 0 || !slices.Equal(a.Limits, []int{128}) || len(a.Flushes) != 0 {
		t.Errorf("the second report of a node is %+v", a)
	}
	if second.Reads != 0 || second.Misses != 0 {
		t.Errorf("the second report has %d reads with %d misses", second.Reads, second.Misses)
	}
}
