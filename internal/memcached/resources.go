// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20
)

// What memcached needs beside the items, which are all that its own limit (-m)
// covers. A container limit without it is a node that is killed when it fills up.
const (
	// processMemory is the program, its libraries and its first hash table.
	processMemory = 16 * mebibyte
	// threadMemory is a worker's stack and buffers.
	threadMemory = 4 * mebibyte
	// connectionMemory is a connection's state and buffers.
	connectionMemory = 16 * kibibyte
	// tlsProcessMemory and tlsConnectionMemory are what OpenSSL adds to them. Measured
	// with 1,500 connections, each with a request under way, are 3 MiB and 27 KiB.
	tlsProcessMemory    = 4 * mebibyte
	tlsConnectionMemory = 32 * kibibyte
	// hashTableShare is the part of the item memory that the hash table takes when
	// all items are as small as they can be, with the old table still there while it
	// grows: 8 bytes for at least 96 of an item, and half of that again.
	hashTableShare = 8

	// threadCPU is what a worker needs when there is little to do. There is no limit:
	// throttling would be latency for every client.
	threadCPU = 25
)

// resourcesOf are the container's requests and limits: derived from memory,
// connections and threads, and overridden by name by what the user has set. Memory
// is requested in full, because a cache fills what it is given.
func resourcesOf(m *v1alpha1.Memcached) corev1.ResourceRequirements {
	memory := memoryOf(&m.Spec)
	derived := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(m.Spec.Threads)*threadCPU, resource.DecimalSI),
			corev1.ResourceMemory: memory,
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: memory},
	}
	if limit, ok := m.Spec.Resources.Limits[corev1.ResourceMemory]; ok && limit.Cmp(memory) < 0 {
		// A request above its limit is refused.
		derived.Requests[corev1.ResourceMemory] = limit
	}
	maps.Copy(derived.Requests, m.Spec.Resources.Requests)
	maps.Copy(derived.Limits, m.Spec.Resources.Limits)
	return derived
}

// memoryOf is in whole mebibytes, which are easier to read.
func memoryOf(spec *v1alpha1.MemcachedSpec) resource.Quantity {
	items := spec.Memory.Value()
	total := items + items/hashTableShare + processMemory +
		int64(spec.Threads)*threadMemory + int64(spec.MaxConnections)*connectionMemory
	if spec.TLS != nil {
		total += tlsProcessMemory + int64(spec.MaxConnections)*tlsConnectionMemory
	}
	return *resource.NewQuantity((total+mebibyte-1)/mebibyte*mebibyte, resource.BinarySI)
}
