// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

const (
	// keys is enough for every node to get some.
	keys = 1000
	// dnsPatience is longer than names are cached in a cluster.
	dnsPatience = time.Minute
)

// checked is what check found.
type checked struct {
	// Addresses that the name resolves to, sorted.
	Addresses []string `json:"addresses"`
	// Read is how many of the keys that were stored through the name were read
	// through it again.
	Read int `json:"read"`
	// Nodes are the same addresses.
	Nodes []checkedNode `json:"nodes"`
}

type checkedNode struct {
	// Own is how many keys were read that were stored through this node by itself.
	Own int `json:"own"`
	// Shared is how many of the keys stored through the name are on this node.
	Shared int `json:"shared"`
}

// check stores and reads keys as an application does that is given a headless Service:
// all of its addresses are the list of servers.
func check(name string, nodes int) (*checked, error) {
	servers, err := resolve(name, nodes)
	if err != nil {
		return nil, err
	}
	result := &checked{Addresses: servers}
	all, err := connect(servers...)
	if err != nil {
		return nil, err
	}
	if err := store(all, "shared"); err != nil {
		return nil, err
	}
	if result.Read, err = read(all, "shared"); err != nil {
		return nil, err
	}
	for i, server := range servers {
		one, err := connect(server)
		if err != nil {
			return nil, err
		}
		own := fmt.Sprintf("own-%d", i)
		if err := store(one, own); err != nil {
			return nil, err
		}
		var node checkedNode
		if node.Own, err = read(one, own); err != nil {
			return nil, err
		}
		if node.Shared, err = read(one, "shared"); err != nil {
			return nil, err
		}
		result.Nodes = append(result.Nodes, node)
	}
	return result, nil
}

// resolve waits until the name has the wanted number of addresses.
func resolve(name string, nodes int) ([]string, error) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(dnsPatience); ; time.Sleep(200 * time.Millisecond) {
		addresses, err := net.LookupHost(host)
		if err == nil && len(addresses) == nodes {
			slices.Sort(addresses)
			for i := range addresses {
				addresses[i] = net.JoinHostPort(addresses[i], port)
			}
			return addresses, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s resolves to %q, want %d addresses: %w", host, addresses, nodes, err)
		}
	}
}

func connect(servers ...string) (*memcache.Client, error) {
	list := &memcache.ServerList{}
	if err := list.SetServers(servers...); err != nil {
		return nil, err
	}
	client := memcache.NewFromSelector(list)
	client.Timeout = 5 * time.Second
	return client, nil
}

func store(client *memcache.Client, prefix string) error {
	for i := range keys {
		if err := client.Set(&memcache.Item{Key: key(prefix, i), Value: value(prefix, i)}); err != nil {
			return fmt.Errorf("storing %s: %w", key(prefix, i), err)
		}
	}
	return nil
}

// read returns how many of the keys are there. A wrong value is an error.
func read(client *memcache.Client, prefix string) (int, error) {
	hits := 0
	for i := range keys {
		item, err := client.Get(key(prefix, i))
		switch {
		case errors.Is(err, memcache.ErrCacheMiss):
		case err != nil:
			return hits, fmt.Errorf("reading %s: %w", key(prefix, i), err)
		case !bytes.Equal(item.Value, value(prefix, i)):
			return hits, fmt.Errorf("%s is %q", key(prefix, i), item.Value)
		default:
			hits++
		}
	}
	return hits, nil
}

func key(prefix string, i int) string { return fmt.Sprintf("%s-%d", prefix, i) }

func value(prefix string, i int) []byte { return fmt.Appendf(nil, "the value of %s-%d", prefix, i) }
