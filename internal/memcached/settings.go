// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// Annotations of a node's pod.
const (
	// annotationSettings holds what the user had asked for when the node was started,
	// as far as a running node cannot change it.
	annotationSettings = "cache.example.com/settings"
	// annotationMemory is the item memory in mebibytes. The container's environment is
	// made of it, and made again at every start of the container: one that crashes
	// comes back at today's size.
	annotationMemory = "cache.example.com/memory"
	// annotationTemplate tells a pod that was made from another template. The settings
	// do not: an operator may render the same ones in another way than the last one.
	annotationTemplate = "cache.example.com/template"

	memoryVariable = "MEMORY"
)

// Why are settings compared, and not pod templates?
//
// A template changes with the operator that renders it. A node that is restarted is a
// cache that is lost, so it is restarted for what the user asks for and for nothing
// else; the rest of a new template waits for that. A setting that the pod's annotation
// does not know came with a newer operator, and is no reason either.

// settings are what a running node cannot change, by the name of the field.
func settings(m *v1alpha1.Memcached) map[string]string {
	spec := &m.Spec
	all := map[string]string{
		"image":          spec.Image,
		"containerPort":  strconv.Itoa(int(spec.ContainerPort)),
		"maxConnections": strconv.Itoa(int(spec.MaxConnections)),
		"threads":        strconv.Itoa(int(spec.Threads)),
		"maxItemSize":    resource.NewQuantity(spec.MaxItemSize.Value(), resource.BinarySI).String(),
		"extraArgs":      digest(v1alpha1.MemcachedSpec{ExtraArgs: spec.ExtraArgs}),
		"resources":      strings.Join(fixedResources(resourcesOf(m)), " "),
		"tls":            "",
		"auth":           "",
		"podMetadata":    digest(v1alpha1.MemcachedSpec{PodMetadata: spec.PodMetadata}),
		"scheduling": digest(v1alpha1.MemcachedSpec{
			NodeSelector:              spec.NodeSelector,
			Tolerations:               spec.Tolerations,
			Affinity:                  spec.Affinity,
			TopologySpreadConstraints: spec.TopologySpreadConstraints,
			PriorityClassName:         spec.PriorityClassName,
			ImagePullSecrets:          spec.ImagePullSecrets,
			ServiceAccountName:        spec.ServiceAccountName,
		}),
	}
	if spec.TLS != nil {
		all["tls"] = fmt.Sprintf("%s (clientAuth %s)", spec.TLS.SecretName, spec.TLS.ClientAuth)
	}
	if spec.Auth != nil {
		all["auth"] = spec.Auth.SecretName
	}
	return all
}

// digested are the settings whose values would be too long to tell.
var digested = []string{"extraArgs", "podMetadata", "scheduling", "resources"}

// fixedResources are what a running pod cannot change of its resources: which there are,
// and how much of those that are neither CPU nor memory. What a LimitRange or a webhook
// adds to a pod is not among them, or it would be restarted for that for ever.
func fixedResources(r corev1.ResourceRequirements) []string {
	var all []string
	for kind, list := range map[string]corev1.ResourceList{"limits": r.Limits, "requests": r.Requests} {
		for name, quantity := range list {
			entry := kind + "." + string(name)
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
				entry += "=" + quantity.String()
			}
			all = append(all, entry)
		}
	}
	slices.Sort(all)
	return all
}

// isExtended reports whether a running pod can get from one to the other: by CPU and
// memory that it did not name before.
func isExtended(from, to []string) bool {
	return !slices.ContainsFunc(from, func(entry string) bool { return !slices.Contains(to, entry) }) &&
		!slices.ContainsFunc(to, func(entry string) bool { return !slices.Contains(from, entry) && strings.Contains(entry, "=") })
}

// digest tells values apart as the API does: an empty list is as good as none.
func digest(value any) string {
	encoded, _ := json.Marshal(value) // parts of an API type
	hash := fnv.New64a()
	_, _ = hash.Write(encoded)
	return strconv.FormatUint(hash.Sum64(), 36)
}

// encodeSettings is what a pod's annotation holds; maps are encoded in order.
func encodeSettings(m *v1alpha1.Memcached) string {
	encoded, _ := json.Marshal(settings(m)) // a map of strings
	return string(encoded)
}

// changedSettings tells, in words, what a node has to be restarted for.
func changedSettings(m *v1alpha1.Memcached, pod *corev1.Pod) []string {
	var had map[string]string
	if json.Unmarshal([]byte(pod.Annotations[annotationSettings]), &had) != nil {
		return nil // not one that we have started, or somebody has changed it
	}
	var changes []string
	for name, wanted := range settings(m) {
		old, known := had[name]
		switch {
		case !known || old == wanted:
		case name == "resources" && isExtended(strings.Fields(old), strings.Fields(wanted)):
		case slices.Contains(digested, name):
			changes = append(changes, name)
		default:
			changes = append(changes, fmt.Sprintf("%s %s → %s", name, orNone(old), orNone(wanted)))
		}
	}
	slices.Sort(changes)
	return changes
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// memoryMebibytes is the item memory as memcached takes it.
func memoryMebibytes(m *v1alpha1.Memcached) int64 { return m.Spec.Memory.Value() / mebibyte }

// nodeAnnotations are on every node's pod.
func nodeAnnotations(m *v1alpha1.Memcached, pod *corev1ac.PodSpecApplyConfiguration) map[string]string {
	return map[string]string{
		annotationSettings: encodeSettings(m),
		annotationMemory:   strconv.FormatInt(memoryMebibytes(m), 10),
		annotationTemplate: templateDigest(pod),
	}
}

// templateDigest leaves the resources out, which are changed in the running pod.
func templateDigest(pod *corev1ac.PodSpecApplyConfiguration) string {
	container := pod.Containers[0]
	container.Resources = nil
	same := *pod
	same.Containers = append([]corev1ac.ContainerApplyConfiguration{container}, pod.Containers[1:]...)
	return digest(same)
}

// isOfOlderTemplate reports whether a node takes something new at its next restart.
func isOfOlderTemplate(pod *corev1.Pod, template map[string]string) bool {
	wanted := template[annotationTemplate]
	return wanted != "" && pod.Annotations[annotationTemplate] != wanted
}
