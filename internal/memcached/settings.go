// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
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
		"maxItemSize":    spec.MaxItemSize.String(),
		"extraArgs":      digest(spec.ExtraArgs),
		"tls":            "",
		"auth":           "",
		"podMetadata":    digest(spec.PodMetadata),
		"scheduling": digest([]any{spec.NodeSelector, spec.Tolerations, spec.Affinity, spec.TopologySpreadConstraints,
			spec.PriorityClassName, spec.ImagePullSecrets, spec.ServiceAccountName}),
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
var digested = []string{"extraArgs", "podMetadata", "scheduling"}

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
