// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// newRandom says what it was begun from, so that a run can be repeated with SEED.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("random from SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// between is a random time.
func between(random *rand.Rand, shortest, longest time.Duration) time.Duration {
	return shortest + time.Duration(random.Int64N(int64(longest-shortest)))
}

// readyPods are the pods with a label that are Ready and not about to end.
func readyPods(ns namespace, label string) ([]corev1.Pod, error) {
	out, err := command("bin/kubectl", "--namespace", ns.name, "get", "pods", "-l", label, "-o", "json")
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := json.Unmarshal([]byte(out), &pods); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || readySince(pod).IsZero()
	}), nil
}

// readySince is when a pod became ready. It is zero if it is not.
func readySince(pod corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// deletions deletes pods at random, with `kubectl delete pod`.
type deletions struct {
	stop, done chan struct{}
	count      int
	err        error
}

// deletePods begins to delete pods, each time of one of the labels. One that is Ready
// always remains of each label.
func deletePods(random *rand.Rand, ns namespace, labels ...string) *deletions {
	// A source of numbers must not be used by two goroutines.
	random = rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
	d := &deletions{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(d.done)
		for d.err == nil {
			select {
			case <-d.stop:
				return
			case <-time.After(between(random, 500*time.Millisecond, 3*time.Second)):
				d.err = d.one(random, ns, labels[random.IntN(len(labels))])
			}
		}
	}()
	return d
}

func (d *deletions) one(random *rand.Rand, ns namespace, label string) error {
	pods, err := readyPods(ns, label)
	if err != nil || len(pods) < 2 {
		return err
	}
	_, err = command("bin/kubectl", "--namespace", ns.name, "delete", "pod", pods[random.IntN(len(pods))].Name, "--wait=false", "--ignore-not-found")
	d.count++
	return err
}

// end stops it, and returns how many pods were deleted.
func (d *deletions) end(t *testing.T) int {
	t.Helper()
	close(d.stop)
	<-d.done
	if d.err != nil {
		t.Error(d.err)
	}
	return d.count
}
