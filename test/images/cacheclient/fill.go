// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"iter"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	// filledTimes is how often the memory of a node is written over: the first time
	// fills it, the second makes it throw items away.
	filledTimes = 2
	// itemOverhead is what memcached adds to the smallest item, at the least.
	itemOverhead = 56
	// unfinishedKeys are 12 KiB, for which memcached has a buffer of 16.
	unfinishedKeys = 12 << 10 / len(" some-key")
	// ioPatience is for a busy machine; a node that is killed breaks the connection.
	ioPatience = time.Minute
)

// filled is what a node says after it was filled. All numbers are memcached's own.
type filled struct {
	Connections int `json:"connections"`
	Items       int `json:"items"`
	Bytes       int `json:"bytes"`
	Limit       int `json:"limit"`
	Evictions   int `json:"evictions"`
	HashBytes   int `json:"hashBytes"`
}

// fill opens as many connections as the node allows, and at most the given number.
// Each is kept in the middle of a command for many keys, so that its buffer is in use,
// while the node is filled.
func fill(server string, connections, valueBytes int) (*filled, error) {
	items, err := dial(server)
	if err != nil {
		return nil, err
	}
	defer items.Close()
	statistics, err := dial(server)
	if err != nil {
		return nil, err
	}
	defer statistics.Close()
	unfinished := strings.Repeat(" some-key", unfinishedKeys)
	before, err := statistics.stats()
	if err != nil {
		return nil, err
	}
	open := make([]*connection, 0, connections)
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for range connections {
		c, err := dial(server)
		if err != nil {
			return nil, err
		}
		open = append(open, c)
		if _, err := fmt.Fprint(c, "version\r\nget", unfinished); err != nil {
			return nil, err
		}
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(line, "ERROR Too many open connections") {
			break
		}
	}
	value := bytes.Repeat([]byte{'x'}, valueBytes)
	if err := items.store(func(yield func(string, []byte) bool) {
		for i := range filledTimes * before.Limit / (valueBytes + itemOverhead) {
			if !yield(strconv.Itoa(i), value) {
				return
			}
		}
	}); err != nil {
		return nil, err
	}
	return statistics.stats()
}

// A connection to a node.
type connection struct {
	net.Conn
	in       *bufio.Reader
	patience time.Duration
}

func dial(server string) (*connection, error) {
	c, err := net.DialTimeout("tcp", server, ioPatience)
	if err != nil {
		return nil, err
	}
	return &connection{c, bufio.NewReader(c), ioPatience}, nil
}

// store does not wait for an answer to each item, which makes it fast.
func (c *connection) store(items iter.Seq2[string, []byte]) error {
	out := bufio.NewWriterSize(c, 1<<16)
	_, secure := c.Conn.(*tls.Conn)
	n := 0
	for key, value := range items {
		if n%1000 == 0 {
			if err := c.SetDeadline(time.Now().Add(c.patience)); err != nil {
				return err
			}
		}
		n++
		// An error stays in out until it is flushed.
		fmt.Fprintf(out, "set %s 0 0 %d noreply\r\n%s\r\n", key, len(value), value)
		// memcached does not look again at what is left of a TLS record behind the end of
		// an item, and waits for the network: a record is one item.
		if secure {
			if err := out.Flush(); err != nil {
				return fmt.Errorf("storing: %w", err)
			}
		}
	}
	fmt.Fprint(out, "version\r\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("storing: %w", err)
	}
	// Only failures are answered before the version.
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("waiting for the last item: %w", err)
		}
		if strings.HasPrefix(line, "VERSION ") {
			return nil
		}
	}
}

func (c *connection) stats() (*filled, error) {
	values, err := c.statistics("stats\r\n")
	if err != nil {
		return nil, err
	}
	return &filled{
		Connections: values["curr_connections"],
		Items:       values["curr_items"],
		Bytes:       values["bytes"],
		Limit:       values["limit_maxbytes"],
		Evictions:   values["evictions"],
		HashBytes:   values["hash_bytes"],
	}, nil
}

// statistics are all that are numbers.
func (c *connection) statistics(command string) (map[string]int, error) {
	if err := c.SetDeadline(time.Now().Add(c.patience)); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprint(c, command); err != nil {
		return nil, err
	}
	values := map[string]int{}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("reading the statistics: %w", err)
		}
		words := strings.Fields(line)
		if len(words) != 3 {
			return values, nil
		}
		if number, err := strconv.Atoi(words[2]); err == nil {
			values[words[1]] = number
		}
	}
}
