// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A node that is full of items and has all the connections that it may have stays
// within the memory that its container was given.
func TestMemcachedBrim(t *testing.T) {
	t.Parallel()
	// What memcached keeps of the connections for files and pipes of its own.
	const reserved = 32
	shapes := []struct {
		name, spec  string
		connections int
		valueBytes  int
	}{
		{"default-small", "", 1024, 1},
		{"default-large", "", 1024, 500_000},
		{"connections-small", "memory: 32Mi, maxConnections: 2000", 2000, 1},
		{"connections-large", "memory: 32Mi, maxConnections: 2000", 2000, 500_000},
	}
	ns := newNamespace(t, restricted)
	for _, shape := range shapes {
		ns.apply(t, fmt.Sprintf(`
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: %s}
spec: {%s}`, shape.name, shape.spec))
	}
	for _, shape := range shapes {
		ns.waitFor(t, "memcached/"+shape.name, "condition=Available")
		startClient(t, ns, "fill-"+shape.name, "fill", shape.name+":11211", fmt.Sprint(shape.connections), fmt.Sprint(shape.valueBytes))
	}
	type result struct{ Connections, Items, Bytes, Limit, Evictions, HashBytes int }
	results := make([]result, len(shapes))
	for i, shape := range shapes {
		clientResult(t, ns, "fill-"+shape.name, &results[i])
	}
	end := time.Now()
	for i, shape := range shapes {
		found := results[i]
		pod := nodes(t, ns, shape.name)[0]
		limit := bytesOf(t, ns.kubectl(t, "get", "pod", pod, "-o", "jsonpath={.spec.containers[0].resources.limits.memory}"))
		peak := peakMemory(t, ns, pod, end)
		t.Logf("%s: peak %.1f Mi of %.0f Mi (%.0f%%) with %d items of %.1f Mi, a hash table of %.1f Mi, %d connections, %d evictions", shape.name,
			peak/mebibyte, limit/mebibyte, 100*peak/limit, found.Items, float64(found.Bytes)/mebibyte, float64(found.HashBytes)/mebibyte, found.Connections, found.Evictions)
		if found.Evictions == 0 {
			t.Errorf("%s: nothing was evicted, so the node was not full: %+v", shape.name, found)
		}
		if found.Connections < shape.connections-reserved {
			t.Errorf("%s: only %d of %d connections were allowed: %+v", shape.name, found.Connections, shape.connections, found)
		}
		state := ns.kubectl(t, "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].lastState}")
		if state != "0 {}" {
			t.Errorf("%s: restarts and last state of the container are %s", shape.name, state)
		}
	}
}

const mebibyte = 1 << 20

// bytesOf reads a quantity in whole mebibytes, which is what the operator writes.
func bytesOf(t *testing.T, quantity string) float64 {
	t.Helper()
	number, err := strconv.Atoi(strings.TrimSuffix(quantity, "Mi"))
	if err != nil {
		t.Fatal(err)
	}
	return float64(number) * mebibyte
}

// peakMemory is the most memory that the memcached container of a pod has ever used,
// as its kubelet has measured it after a time.
func peakMemory(t *testing.T, ns namespace, pod string, after time.Time) float64 {
	t.Helper()
	node := ns.kubectl(t, "get", "pod", pod, "-o", "jsonpath={.spec.nodeName}")
	var peak float64
	eventually(t, func() error {
		for line := range strings.Lines(kubectl(t, "get", "--raw", "/api/v1/nodes/"+node+"/proxy/metrics/cadvisor")) {
			if !strings.HasPrefix(line, "container_memory_max_usage_bytes{") ||
				!strings.Contains(line, `container="memcached"`) || !strings.Contains(line, fmt.Sprintf("pod=%q", pod)) {
				continue
			}
			_, measured, _ := strings.Cut(line, "} ")
			values := strings.Fields(measured)
			if len(values) != 2 {
				return fmt.Errorf("no time in %s", line)
			}
			milliseconds, err := strconv.ParseInt(values[1], 10, 64)
			if err != nil {
				return err
			}
			if time.UnixMilli(milliseconds).Before(after) {
				return fmt.Errorf("the last measurement of %s is of %v", pod, time.UnixMilli(milliseconds))
			}
			peak, err = strconv.ParseFloat(values[0], 64)
			return err
		}
		return fmt.Errorf("the kubelet of %s does not know the memory of %s", node, pod)
	})
	return peak
}
