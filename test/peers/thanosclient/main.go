// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command thanosclient finds the nodes of a Memcached as Thanos does, with Thanos' own
// code, and stores and reads keys through them. It runs in a pod, where Services can be
// reached, and prints what it has found as JSON.
//
//	thanosclient HOST:PORT
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	kitlog "github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	discovery "github.com/thanos-io/thanos/pkg/discovery/memcache"
)

const (
	keys     = 1000
	patience = 30 * time.Second
)

// found is what was found out.
type found struct {
	Version   int      `json:"version"`
	Addresses []string `json:"addresses"`
	// Read is how many of the keys that were stored were read again.
	Read int `json:"read"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: thanosclient HOST:PORT")
	}
	result, err := run(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}

func run(endpoint string) (*found, error) {
	result, err := discover(endpoint)
	if err != nil {
		return nil, err
	}
	client := memcache.New(result.Addresses...)
	client.Timeout = 5 * time.Second
	for i := range keys {
		if err := client.Set(&memcache.Item{Key: key(i), Value: value(i)}); err != nil {
			return nil, fmt.Errorf("storing %s: %w", key(i), err)
		}
		item, err := client.Get(key(i))
		switch {
		case errors.Is(err, memcache.ErrCacheMiss):
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", key(i), err)
		case bytes.Equal(item.Value, value(i)):
			result.Read++
		}
	}
	return result, nil
}

// discover asks until it gets an answer: a Service may have no rules yet.
func discover(endpoint string) (*found, error) {
	registry := prometheus.NewRegistry()
	provider := discovery.NewProvider(kitlog.NewNopLogger(), registry, 5*time.Second)
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		err := provider.Resolve(context.Background(), []string{endpoint}, true)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
	result := &found{Addresses: provider.Addresses()}
	families, err := registry.Gather()
	if err != nil {
		return nil, err
	}
	for _, family := range families {
		if family.GetName() == "auto_discovery_config_version" {
			result.Version = int(family.Metric[0].Gauge.GetValue())
		}
	}
	return result, nil
}

func key(i int) string { return fmt.Sprintf("thanos-%d", i) }

func value(i int) []byte { return fmt.Appendf(nil, "the value of %d", i) }
