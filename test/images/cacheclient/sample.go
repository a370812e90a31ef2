// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"time"
)

// sampleInterval is how often each node is looked at.
const sampleInterval = 100 * time.Millisecond

// sampled is what was seen of the nodes since the last reset.
type sampled struct {
	Samples int `json:"samples"`
	// LowestUp is how few nodes answered at a time, LowestItems how few items those
	// had that did.
	LowestUp    int `json:"lowestUp"`
	LowestItems int `json:"lowestItems"`
	// Nodes are in the order of the servers.
	Nodes []nodeSample `json:"nodes"`
}

// nodeSample is what was seen of one node. All numbers are memcached's own.
type nodeSample struct {
	Name  string `json:"name"`
	Up    bool   `json:"up"`
	Items int    `json:"items"`
	// Downs is how many times it has stopped answering, since the last reset.
	Downs int `json:"downs"`
	// Limits are those that it has had, in bytes, one after the other.
	Limits  []int `json:"limits"`
	Threads int   `json:"threads"`
	// Allocated is the memory of its pages.
	Allocated int `json:"allocated"`
	// Classes have pages in them.
	Classes []slabClass `json:"classes"`
	// Flushes are when it was seen to be flushed.
	Flushes []time.Time `json:"flushes"`
	flushed int
}

type slabClass struct {
	ChunkSize, Pages, PerPage, Used int
}

// watch looks at one node all the time. It has a connection of its own, so that a node
// that does not answer keeps nobody waiting.
func (l *load) watch(node int) {
	var c *connection
	for ; ; time.Sleep(sampleInterval) {
		if c == nil {
			c, _ = l.dial(l.nodes[node].name, requestPatience) // nil is a node that is down
		}
		var general, slabs map[string]int
		var err error
		if c != nil {
			if general, err = c.statistics("stats\r\n"); err == nil {
				slabs, err = c.statistics("stats slabs\r\n")
			}
		}
		if c == nil || err != nil {
			l.saw(node, nil, nil)
			if c != nil {
				c.Close()
				c = nil
			}
			continue
		}
		l.saw(node, general, slabs)
	}
}

// saw stores what a node has said, or that it has not.
func (l *load) saw(node int, general, slabs map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := &l.Nodes[node]
	if general == nil {
		if n.Up {
			n.Downs++
		}
		n.Up = false
		return
	}
	n.Up = true
	n.Items, n.Threads, n.Allocated = general["curr_items"], general["threads"], slabs["total_malloced"]
	if limit := general["limit_maxbytes"]; len(n.Limits) == 0 || n.Limits[len(n.Limits)-1] != limit {
		n.Limits = append(n.Limits, limit)
	}
	flushed := general["cmd_flush"]
	if flushed > n.flushed {
		n.Flushes = append(n.Flushes, time.Now())
	}
	n.flushed = flushed // less than before in a node that was restarted
	n.Classes = classes(slabs)
}

func classes(slabs map[string]int) []slabClass {
	var all []slabClass
	for id := range 64 {
		of := func(name string) int { return slabs[strconv.Itoa(id)+":"+name] }
		if of("total_pages") > 0 {
			all = append(all, slabClass{of("chunk_size"), of("total_pages"), of("chunks_per_page"), of("used_chunks")})
		}
	}
	return all
}

// keepSampling looks at all nodes at a time.
func (l *load) keepSampling() {
	for range time.Tick(sampleInterval) {
		l.mu.Lock()
		up, items := 0, 0
		for i := range l.Nodes {
			if n := &l.Nodes[i]; n.Up {
				up, items = up+1, items+n.Items
			}
		}
		if l.Samples == 0 || up < l.LowestUp {
			l.LowestUp = up
		}
		if l.Samples == 0 || items < l.LowestItems {
			l.LowestItems = items
		}
		l.Samples++
		l.mu.Unlock()
	}
}

// report is all that was counted since the last reset.
type report struct {
	Seconds float64 `json:"seconds"`
	counts
	sampled
}

// reset counts from zero, and returns what was counted up to then. What a node is like
// is kept.
func (l *load) reset() report {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.locked()
	l.began = time.Now()
	l.counts = counts{Errors: make([]int, len(l.nodes)), Arrivals: make([]arrivals, len(l.nodes))}
	nodes := make([]nodeSample, len(l.nodes))
	for i := range nodes {
		if len(l.Nodes) > 0 {
			nodes[i] = l.Nodes[i]
		}
		n := &nodes[i]
		n.Name, n.Downs, n.Flushes = l.nodes[i].name, 0, nil
		n.Limits = slices.Clone(n.Limits[max(0, len(n.Limits)-1):])
	}
	l.sampled = sampled{Nodes: nodes}
	return last
}

func (l *load) read() report {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locked()
}

func (l *load) locked() report {
	r := report{Seconds: time.Since(l.began).Seconds(), counts: l.counts, sampled: l.sampled}
	r.Nodes = slices.Clone(l.Nodes)
	r.Errors = slices.Clone(l.Errors)
	r.Arrivals = slices.Clone(l.Arrivals)
	return r
}
