// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/golden"
)

func withTLS(clientAuth v1alpha1.MemcachedClientAuth) func(*v1alpha1.MemcachedSpec) {
	return func(s *v1alpha1.MemcachedSpec) {
		s.TLS = &v1alpha1.MemcachedTLS{SecretName: "certificate", ClientAuth: clientAuth}
	}
}

func withAuth(s *v1alpha1.MemcachedSpec) { s.Auth = &v1alpha1.MemcachedAuth{SecretName: "users"} }

func TestAccessArgs(t *testing.T) {
	const certificate = "--extended=ssl_chain_cert=/agent/tls/tls.crt,ssl_key=/agent/tls/tls.key"
	for _, test := range []struct {
		name string
		m    *v1alpha1.Memcached
		want []string
	}{
		{"neither", sample(), nil},
		{"TLS", sample(withTLS(v1alpha1.ClientAuthNone)), []string{"--enable-ssl", certificate}},
		{"mutual", sample(withTLS(v1alpha1.ClientAuthRequire)), []string{"--enable-ssl", certificate + ",ssl_ca_cert=/agent/tls/ca.crt,ssl_verify_mode=2"}},
		{"auth", sample(withAuth), []string{"--auth-file=/agent/users"}},
		{"both", sample(withTLS(v1alpha1.ClientAuthNone), withAuth), []string{"--enable-ssl", certificate, "--auth-file=/agent/users"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := accessArgs(test.m); !slices.Equal(got, test.want) {
				t.Errorf("%q", got)
			}
			all := strings.Join(args(test.m), " ")
			if !strings.Contains(all, strings.Join(test.want, " ")) || strings.Contains(all, "notls") {
				t.Errorf("%q", all)
			}
		})
	}
}

func TestSecuredTemplates(t *testing.T) {
	for name, m := range map[string]*v1alpha1.Memcached{
		"tls":  sample(withTLS(v1alpha1.ClientAuthRequire)),
		"auth": sample(withAuth),
		"both": sample(withTLS(v1alpha1.ClientAuthNone), withAuth, func(s *v1alpha1.MemcachedSpec) {
			s.ContainerPort = agentPort
			s.Monitoring = &v1alpha1.MemcachedMonitoring{Port: 9150}
			s.Discovery = &v1alpha1.MemcachedDiscovery{Replicas: 1, Port: 11211, HTTPPort: 8080}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			template := podTemplate(m, testImages)
			golden.YAML(t, "pod-"+name, template.Spec)
			set := statefulSet(m, testImages).Spec.Template
			if set.Annotations[annotationTemplate] != template.Annotations[annotationTemplate] {
				t.Error("a StatefulSet has other pods than a Deployment")
			}
			if m.Spec.Monitoring != nil {
				golden.YAML(t, "metrics-pod-"+name, metricsCompanion(m).pod(m, testImages.companion))
				if pod := discoveryCompanion(m).pod(m, testImages.companion); len(pod.Volumes) != 1 {
					t.Error("the discovery companion has Secrets that it does not need")
				}
			}
		})
	}
}

func TestAgentImage(t *testing.T) {
	m := sample(withAuth)
	running := func(m *v1alpha1.Memcached, image string) *observed {
		return &observed{deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: m.UID, Controller: ptr.To(true)}}},
			Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationSettings: encodeSettings(m), annotationAgent: image}},
				// Somebody has edited it.
				Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: agentContainer, Image: "hand:1"}}},
			}},
		}}
	}
	for _, test := range []struct {
		name string
		seen *observed
		want string
	}{
		{"first", &observed{}, "operator:2"},
		{"a new operator", running(m, "operator:1"), "operator:1"},
		{"a restart for another reason", running(sample(withAuth, func(s *v1alpha1.MemcachedSpec) { s.Threads = 8 }), "operator:1"), "operator:2"},
	} {
		if got := agentImageOf(m, test.seen, "operator:2"); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// OpenSSL takes memory for each connection, which the container has to have.
func TestTLSMemory(t *testing.T) {
	plain, encrypted := memoryOf(&sample().Spec), memoryOf(&sample(withTLS(v1alpha1.ClientAuthNone)).Spec)
	if plain.String() != "120Mi" || encrypted.String() != "156Mi" {
		t.Errorf("%s and %s", &plain, &encrypted)
	}
}

func TestSecretsInAPod(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: agentContainer}},
		Volumes: []corev1.Volume{
			{Name: tlsVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "old"}}},
			{Name: "foreign", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "foreign"}}},
			{Name: agentVolume},
		},
	}}
	if got := secretsIn(pod); got != (secretNames{tls: "old"}) {
		t.Errorf("%+v", got)
	}
	pod.Spec.InitContainers = nil
	if got := secretsIn(pod); got != (secretNames{}) {
		t.Errorf("a pod of before has %+v", got)
	}
}

// failingReader reads nothing.
type failingReader struct {
	client.Reader
	err error
}

func (r failingReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return r.err
}

// A Secret that cannot be read is not one that is missing, and both are looked at again.
func TestUnreadableSecret(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	for _, test := range []struct {
		err    error
		reason string
		again  time.Duration
	}{
		{apierrors.NewNotFound(secrets, "users"), "SecretMissing", 30 * time.Second},
		{apierrors.NewForbidden(secrets, "users", errors.New("no")), "SecretUnreadable", 5 * time.Second},
		{context.DeadlineExceeded, "SecretUnreadable", 5 * time.Second},
	} {
		m := sample(withAuth)
		r := &Reconciler{secrets: failingReader{err: test.err}, images: testImages}
		p := decide(m, &observed{}, testImages)
		err := r.checkSecrets(t.Context(), m, &observed{}, &p)
		if apply.Reason(err) != test.reason || secretRequeue(err) != test.again || apply.IsHiccup(err) || apply.Retry(err) != nil {
			t.Errorf("%v: %v, again after %v", test.err, err, secretRequeue(err))
		}
		if !strings.Contains(err.Error(), "Secret users") || !strings.Contains(err.Error(), "spec.auth.secretName") {
			t.Errorf("%v", err)
		}
	}
}
