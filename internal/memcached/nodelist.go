// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/companion/nodelist"
	"github.com/example/web-operators/internal/podstate"
)

// Every change of the list moves keys from one node to another in every client, so the
// list changes as rarely as it can, and in as few steps:
//
//   - Nodes of a StatefulSet are ordered by number, those of a Deployment by name.
//   - A node that is not ready, or is being replaced under its name, stays.
//   - New nodes come all at once, when all that are missing are ready.
//   - Nodes of a StatefulSet that are to go leave at once, before their pods do. Which
//     pods of a Deployment go is not known before; they leave together when all have
//     been told to.
//   - There is no list until there are all nodes for the first time.
//
// nextList is the list that follows from the last one, the pods that are there and the
// number that is wanted.
func nextList(last nodelist.List, m *v1alpha1.Memcached, pods []corev1.Pod, size int32) nodelist.List {
	var nodes []nodelist.Node
	var complete bool
	if m.Spec.Workload == v1alpha1.WorkloadStatefulSet {
		nodes, complete = stableNodes(last, m, pods, size)
	} else {
		nodes, complete = looseNodes(last, m, pods, size)
	}
	if !complete {
		return last
	}
	return last.With(nodes)
}

// stableNodes are those of a StatefulSet. They are not complete while there is no list
// of such nodes and not all of them are ready.
func stableNodes(last nodelist.List, m *v1alpha1.Memcached, pods []corev1.Pod, size int32) ([]nodelist.Node, bool) {
	known := map[string]nodelist.Node{}
	for _, n := range last.Nodes {
		known[n.Host] = n
	}
	running := map[string]*corev1.Pod{}
	for i := range pods {
		running[pods[i].Name] = &pods[i]
	}
	var kept, all []nodelist.Node
	ready := true
	for i := range size {
		name := fmt.Sprintf("%s-%d", m.Name, i)
		host := fmt.Sprintf("%s.%s.%s.svc", name, m.Name, m.Namespace)
		n, listed := known[host]
		if pod := running[name]; pod != nil && pod.Status.PodIP != "" {
			n = nodelist.Node{Name: name, Host: host, IP: pod.Status.PodIP, Port: portOf(pod, m)}
			ready = ready && (listed || podstate.Ready(pod))
		} else if !listed {
			ready = false
		}
		all = append(all, n)
		if listed {
			kept = append(kept, n)
		}
	}
	switch {
	case ready:
		return all, true
	case len(kept) > 0:
		return kept, true
	default:
		return nil, false
	}
}

// looseNodes are those of a Deployment, which have no names that stay. They are not
// complete while it is not known which of them go, or nothing would be left.
func looseNodes(last nodelist.List, m *v1alpha1.Memcached, pods []corev1.Pod, size int32) ([]nodelist.Node, bool) {
	var kept, fresh []nodelist.Node
	for i := range pods {
		pod := &pods[i]
		if _, numbered := pod.Labels[appsv1.PodIndexLabel]; numbered || pod.Status.PodIP == "" {
			continue
		}
		n := nodelist.Node{Name: pod.Name, Host: pod.Status.PodIP, IP: pod.Status.PodIP, Port: portOf(pod, m)}
		switch {
		case slices.ContainsFunc(last.Nodes, func(known nodelist.Node) bool { return known.Host == n.Host }):
			kept = append(kept, n)
		case podstate.Ready(pod):
			fresh = append(fresh, n)
		}
	}
	missing := int(size) - len(kept)
	switch {
	case missing < 0:
		return nil, false
	case missing <= len(fresh):
		kept = append(kept, fresh[:missing]...)
		slices.SortFunc(kept, func(a, b nodelist.Node) int { return cmp.Compare(a.Name, b.Name) })
		return kept, true
	default:
		return kept, len(kept) > 0
	}
}

// portOf is where the pod listens, which may still be another than the spec says.
func portOf(pod *corev1.Pod, m *v1alpha1.Memcached) int32 {
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			if c.Name == containerName && port.Name == portName {
				return port.ContainerPort
			}
		}
	}
	return m.Spec.ContainerPort
}

// wantsNodeList reports whether there is somebody to tell the list.
func wantsNodeList(m *v1alpha1.Memcached) bool {
	return m.Spec.Discovery != nil || m.Spec.Monitoring != nil
}

// lastList is the list as it was published last. The ConfigMap has it; the companions'
// pods have it too, so that the version does not fall when somebody deletes that.
func lastList(m *v1alpha1.Memcached, seen *observed) nodelist.List {
	var copies []string
	if ours(m, seen.nodeList) {
		copies = append(copies, seen.nodeList.Data[nodelist.File])
	}
	for i := range seen.companions {
		copies = append(copies, seen.companions[i].Annotations[nodelist.Annotation])
	}
	return nodelist.Newest(copies...)
}

func nodeListName(m *v1alpha1.Memcached) string { return m.Name + nodeListSuffix }

// nodeList is what the companions' pods start with, and where the version lives. It is
// nil as long as there is no list.
func nodeList(m *v1alpha1.Memcached, l nodelist.List) *corev1ac.ConfigMapApplyConfiguration {
	if l.Version == 0 {
		return nil
	}
	return corev1ac.ConfigMap(nodeListName(m), m.Namespace).
		WithLabels(childLabels(m)).
		WithData(map[string]string{nodelist.File: l.String()})
}
