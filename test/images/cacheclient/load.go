// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/example/web-operators/internal/credentials"
)

const (
	// valueBytes is such that 100,000 items are about half of 3 × 64 MiB.
	valueBytes = 900
	// batch is how many items are read at a time.
	batch = 100
	// otherKeys are written all the time, beside the items that are read.
	otherKeys = 50
	// requestPatience is for a busy machine: a node that serves answers within it.
	requestPatience = 5 * time.Second
	// noRoom is what memcached says that is full and finds nothing to throw away in time.
	noRoom = "SERVER_ERROR out of memory storing object"
	// maxErrors is how many errors are told in words.
	maxErrors = 5
)

// load is a client that reads and writes all the time, and looks at every node.
type load struct {
	nodes   []*target
	secrets credentials.Directories
	refill  bool
	began   time.Time

	mu    sync.Mutex
	items int // how many there are to be, over all nodes
	counts
	sampled
}

// counts are of the requests since the last reset.
type counts struct {
	Reads      int      `json:"reads"`
	Misses     int      `json:"misses"`
	Wrong      int      `json:"wrong"`
	Writes     int      `json:"writes"`
	Refused    int      `json:"refused"` // writes that a node had no room for; the connection is fine
	Errors     []int    `json:"errors"`  // by node
	FirstError []string `json:"firstErrors"`
	// Arrivals are by node, and none without Secrets.
	Arrivals []arrivals `json:"arrivals"`
}

// target is one node, under a name that is looked up for each connection: a node that is
// replaced has another address.
type target struct {
	name      string
	client    *memcache.Client
	index, of int
}

// runLoad fills the nodes, then reads and writes until its time is over. It opens its
// control port when the nodes are full.
func runLoad(names []string, items, batchesPerSecond, seconds int, refill bool) error {
	l := &load{items: items, secrets: mountedSecrets(secretsDirectory), refill: refill, began: time.Now()}
	for i, name := range names {
		client := memcache.NewFromSelector(named(name))
		client.Timeout = requestPatience
		client.DialContext = l.connect
		l.nodes = append(l.nodes, &target{name: name, client: client, index: i, of: len(names)})
	}
	if err := l.fill(0, items); err != nil {
		return err
	}
	l.reset()
	for i := range l.nodes {
		go l.watch(i)
		if l.secrets != (credentials.Directories{}) {
			go l.keepConnecting(i)
		}
		go l.keepReading(i, time.Second*time.Duration(len(l.nodes))/time.Duration(batchesPerSecond))
	}
	go l.keepSampling()
	server := &http.Server{Addr: ":9090", Handler: l.control(), ReadHeaderTimeout: requestPatience}
	time.AfterFunc(time.Duration(seconds)*time.Second, func() { server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// named is the selector of a client that has one server, whose name is looked up for
// each connection.
type named string

func (n named) PickServer(string) (net.Addr, error) { return n, nil }
func (n named) Each(do func(net.Addr) error) error  { return do(n) }
func (n named) Network() string                     { return "tcp" }
func (n named) String() string                      { return string(n) }

func itemKey(i int) string { return fmt.Sprintf("item-%d", i) }

func itemValue(i int) []byte {
	text := fmt.Sprintf("the value of item %d, ", i)
	return []byte(strings.Repeat(text, valueBytes/len(text)+1)[:valueBytes])
}

// mine is what gomemcache's ServerList does, which resolves names only once.
func (t *target) mine(item int) bool {
	return crc32.ChecksumIEEE([]byte(itemKey(item)))%uint32(t.of) == uint32(t.index)
}

// itemsOf are the items of a node from one number up to another.
func (t *target) itemsOf(from, to int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := from; i < to; i++ {
			if t.mine(i) && !yield(i) {
				return
			}
		}
	}
}

// fill stores items, on all nodes at a time.
func (l *load) fill(from, to int) error {
	return l.each(func(_ int, t *target) error {
		c, err := l.dial(t.name, ioPatience)
		if err != nil {
			return err
		}
		defer c.Close()
		return c.store(func(yield func(string, []byte) bool) {
			for i := range t.itemsOf(from, to) {
				if !yield(itemKey(i), itemValue(i)) {
					return
				}
			}
		})
	})
}

// each does something with all nodes at a time.
func (l *load) each(do func(int, *target) error) error {
	failed := make([]error, len(l.nodes))
	var wait sync.WaitGroup
	for i, t := range l.nodes {
		wait.Go(func() { failed[i] = do(i, t) })
	}
	wait.Wait()
	return errors.Join(failed...)
}

// count reads all items, and tells how many of them each node has.
func (l *load) count(items int) ([]int, error) {
	found := make([]int, len(l.nodes))
	err := l.each(func(i int, t *target) error {
		for keys := range batches(t.itemsOf(0, items)) {
			hits, err := t.read(keys)
			if err != nil {
				return err
			}
			found[i] += len(hits)
		}
		return nil
	})
	return found, err
}

// batches are the same items, some at a time.
func batches(items iter.Seq[int]) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var some []int
		for i := range items {
			if some = append(some, i); len(some) == batch {
				if !yield(some) {
					return
				}
				some = nil
			}
		}
		if len(some) > 0 {
			yield(some)
		}
	}
}

// wrongValueError means that a node has something else under a key than was stored.
type wrongValueError struct{ key string }

func (e *wrongValueError) Error() string { return "the wrong value of " + e.key }

// read returns which of some items a node has.
func (t *target) read(items []int) (map[int]bool, error) {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = itemKey(item)
	}
	answer, err := t.client.GetMulti(names)
	if err != nil {
		return nil, err
	}
	hits := map[int]bool{}
	for _, item := range items {
		if got := answer[itemKey(item)]; got != nil {
			if !bytes.Equal(got.Value, itemValue(item)) {
				return nil, &wrongValueError{itemKey(item)}
			}
			hits[item] = true
		}
	}
	return hits, nil
}

// keepReading reads the items of a node in a circle, and writes something else after
// each batch.
func (l *load) keepReading(node int, interval time.Duration) {
	t := l.nodes[node]
	tick := time.NewTicker(interval)
	for n := 0; ; {
		for items := range batches(t.itemsOf(0, l.wanted())) {
			<-tick.C
			hits, err := t.read(items)
			if l.counted(node, len(items), len(hits), err) && l.refill && len(hits) < len(items) {
				l.counted(node, 0, 0, t.add(items, hits))
			}
			n++
			err = t.client.Set(&memcache.Item{Key: fmt.Sprintf("other-%d", n%otherKeys), Value: itemValue(n)})
			l.counted(node, 0, 0, err)
		}
	}
}

func (l *load) wanted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items
}

// add stores those items that a node does not have, as an application does that has
// fetched them from where they come from.
func (t *target) add(items []int, hits map[int]bool) error {
	for _, i := range items {
		if !hits[i] {
			if err := t.client.Set(&memcache.Item{Key: itemKey(i), Value: itemValue(i)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// counted counts a request, and reports whether it was answered.
func (l *load) counted(node, reads, hits int, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Reads += reads
	if reads == 0 {
		l.Writes++
	}
	if wrong := (*wrongValueError)(nil); errors.As(err, &wrong) {
		l.Wrong++
	}
	if err != nil && strings.Contains(err.Error(), noRoom) {
		l.Refused++
		return true
	}
	if err != nil {
		l.Errors[node]++
		if len(l.FirstError) < maxErrors {
			l.FirstError = append(l.FirstError, fmt.Sprintf("%s %s: %v", time.Now().Format(time.TimeOnly), l.nodes[node].name, err))
		}
		return false
	}
	l.Misses += reads - hits
	return true
}
