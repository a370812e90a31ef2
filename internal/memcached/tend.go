// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/node"
)

const (
	// answerTime is how long a node may take to answer; shrinkTime how long one
	// reconcile spends on taking pages from it. Both keep other resources waiting.
	answerTime = 2 * time.Second
	shrinkTime = 3 * time.Second
)

// remembered is what the operator knows of nodes, to ask them less often. It is lost
// with the process, which then asks once more. Its zero value is ready for use.
type remembered struct {
	mu sync.Mutex
	// verified says what item memory a container has confirmed.
	verified map[types.UID]confirmation
	// reads are those of the last look, and when that was.
	reads map[types.UID]look
	// noResize means that the API server does not know how to resize a pod.
	noResize bool
}

type confirmation struct {
	container string
	mebibytes int64
}

type look struct {
	reads node.Reads
	at    time.Time
	rate  int32
	known bool
}

// readNodes asks the nodes that have to be asked, all at a time.
func (r *Reconciler) readNodes(ctx context.Context, m *v1alpha1.Memcached, seen *observed) {
	seen.readings = map[string]reading{}
	seen.hitRates = map[string]int32{}
	seen.resizable = r.remembered.canResize()
	var wait sync.WaitGroup
	var mu sync.Mutex
	for i := range seen.nodes {
		pod := &seen.nodes[i]
		verified := r.remembered.isVerified(pod, memoryMebibytes(m))
		if !needsReading(m, seen, pod, verified) {
			mu.Lock()
			seen.readings[pod.Name] = reading{verified: verified}
			mu.Unlock()
			continue
		}
		wait.Go(func() {
			answer := r.readNode(ctx, m, pod)
			mu.Lock()
			defer mu.Unlock()
			seen.readings[pod.Name] = answer
			if rate, known := r.remembered.hitRate(pod, answer, seen.now); known {
				seen.hitRates[pod.Name] = rate
			}
		})
	}
	wait.Wait()
	for i := range seen.nodes {
		if pod := &seen.nodes[i]; stateOf(m, seen, pod) == upToDate {
			r.remembered.verify(pod, memoryMebibytes(m))
		}
	}
}

func (r *Reconciler) readNode(ctx context.Context, m *v1alpha1.Memcached, pod *corev1.Pod) reading {
	answer := reading{}
	answer.err = r.withNode(ctx, m, pod, answerTime, func(ctx context.Context, conn *node.Conn) error {
		var err error
		if answer.memory, err = conn.Memory(ctx); err != nil {
			return err
		}
		answer.reads, err = conn.Reads(ctx)
		return err
	})
	return answer
}

// withNode connects to a node for a time.
func (r *Reconciler) withNode(ctx context.Context, m *v1alpha1.Memcached, pod *corev1.Pod, limit time.Duration, do func(context.Context, *node.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := r.nodeClient(ctx, m, pod)
	if err != nil {
		return err
	}
	conn, err := c.Dial(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, conn), conn.Close())
}

// tend does the next thing about the running nodes, and notes in what was seen how it
// went.
func (r *Reconciler) tend(ctx context.Context, m *v1alpha1.Memcached, seen *observed, p *plan) {
	var flushErr, stepErr error
	if p.flush != nil {
		if flushErr = r.flush(ctx, m, p.flush); flushErr == nil {
			seen.flushed = p.flush.Name
		}
	}
	// A pod that is restarted before the StatefulSet's controller has seen the new
	// template could come back as it was; its status wakes us when it has.
	if p.step != nil && (!seen.written || p.step.state != outdated) {
		switch stepErr = r.take(ctx, m, seen, p.step); {
		case stepErr == nil:
			seen.done = p.step
		case p.step.state != outdated && (apierrors.IsForbidden(stepErr) || apierrors.IsInvalid(stepErr)):
			// The same words would come back at every attempt.
			seen.infeasible, stepErr = &cause{reasonInfeasible, stepErr.Error()}, nil
		}
	}
	seen.refused = errors.Join(flushErr, stepErr)
}

func (r *Reconciler) flush(ctx context.Context, m *v1alpha1.Memcached, pod *corev1.Pod) error {
	err := r.withNode(ctx, m, pod, answerTime, func(ctx context.Context, conn *node.Conn) error { return conn.Flush(ctx) })
	if err != nil {
		return fmt.Errorf("flushing node %s: %w", pod.Name, err)
	}
	return nil
}

func (r *Reconciler) take(ctx context.Context, m *v1alpha1.Memcached, seen *observed, s *step) error {
	switch s.state {
	case growing, shrinking:
		return r.resize(ctx, m, s.pod)
	case adjusting:
		return r.adjust(ctx, m, s.pod, seen.readings[s.pod.Name])
	case outdated:
		// The StatefulSet makes it again, from the current template.
		return apply.Delete(ctx, r.writer, seen.statefulSet, s.pod)
	case upToDate, resizing, silent:
	}
	return nil
}

// resize asks the kubelet to change the resources of a running pod. It is not one of
// package apply's writes, because it goes to a subresource.
func (r *Reconciler) resize(ctx context.Context, m *v1alpha1.Memcached, pod *corev1.Pod) error {
	// First the annotation, which tells later what the pod was given and may lose.
	pod, err := apply.Edit(ctx, r.writer, pod, func(pod *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, annotationSettings, encodeSettings(m))
	})
	if pod == nil || err != nil {
		return err
	}
	changed := pod.DeepCopy()
	for i := range changed.Spec.Containers {
		if c := &changed.Spec.Containers[i]; c.Name == containerName {
			c.Resources = resized(c.Resources, resourcesOf(m))
		}
	}
	err = r.client.SubResource("resize").Patch(ctx, changed, client.StrategicMergeFrom(pod), client.FieldOwner(Name))
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Name == pod.Name {
			return nil // the pod is gone
		}
		r.remembered.giveUpResizing()
		return nil
	}
	if err != nil {
		return fmt.Errorf("resizing pod %s: %w", pod.Name, err)
	}
	return nil
}

// adjust brings memcached to the wanted limit. A container that ends on the way comes
// back at the smaller of the two sizes, which its pod has room for at any time.
func (r *Reconciler) adjust(ctx context.Context, m *v1alpha1.Memcached, pod *corev1.Pod, has reading) error {
	wanted := memoryMebibytes(m)
	tell := func() error {
		return r.withNode(ctx, m, pod, answerTime+shrinkTime, func(ctx context.Context, conn *node.Conn) error {
			if has.memory.Allocated <= wanted*mebibyte {
				return conn.SetMemoryLimit(ctx, wanted)
			}
			ctx, cancel := context.WithTimeout(ctx, shrinkTime)
			defer cancel()
			if err := conn.Shrink(ctx, wanted); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			return nil
		})
	}
	remember := func() error {
		_, err := apply.Edit(ctx, r.writer, pod, func(pod *corev1.Pod) {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, annotationMemory, strconv.FormatInt(wanted, 10))
		})
		return err
	}
	first, second := tell, remember
	if has.memory.Limit > wanted*mebibyte {
		first, second = remember, tell
	}
	if err := first(); err != nil {
		return fmt.Errorf("changing the memory of node %s: %w", pod.Name, err)
	}
	if err := second(); err != nil {
		return fmt.Errorf("changing the memory of node %s: %w", pod.Name, err)
	}
	return nil
}

func (m *remembered) canResize() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.noResize
}

func (m *remembered) giveUpResizing() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noResize = true
}

func (m *remembered) isVerified(pod *corev1.Pod, mebibytes int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.verified[pod.UID] == confirmation{containerID(pod), mebibytes}
}

func (m *remembered) verify(pod *corev1.Pod, mebibytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.verified == nil || len(m.verified) > maxRemembered {
		m.verified = map[types.UID]confirmation{}
	}
	m.verified[pod.UID] = confirmation{containerID(pod), mebibytes}
}

// maxRemembered bounds what is kept of pods that are long gone.
const maxRemembered = 10_000

// hitRate is the share of reads that a node had the item for since the last look, in
// percent.
func (m *remembered) hitRate(pod *corev1.Pod, answer reading, now time.Time) (rate int32, known bool) {
	if answer.err != nil {
		return 0, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reads == nil || len(m.reads) > maxRemembered {
		m.reads = map[types.UID]look{}
	}
	last := m.reads[pod.UID]
	if now.Sub(last.at) < warmupLook-time.Second {
		return last.rate, last.known
	}
	gets := answer.reads.Gets - last.reads.Gets
	switch {
	case gets < 0: // its container has started anew
		m.reads[pod.UID] = look{reads: answer.reads, at: now}
		return 0, false
	case gets < warmupReads: // too few to tell; they are counted on
		return last.rate, last.known
	}
	next := look{reads: answer.reads, at: now, rate: int32((answer.reads.Hits - last.reads.Hits) * 100 / gets), known: true}
	m.reads[pod.UID] = next
	return next.rate, next.known
}

// containerID tells one start of the memcached container from another.
func containerID(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == containerName {
			return pod.Status.ContainerStatuses[i].ContainerID
		}
	}
	return ""
}
