// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/node"
)

const (
	// secretLook is how often a Secret that cannot be used is looked at again. It is not
	// watched: that would take the right to read all Secrets there are.
	secretLook = 30 * time.Second
	// secretRetry is the same for one that could not be read.
	secretRetry = 5 * time.Second
)

// secretError says why nodes cannot be run with the Secrets that their resource names.
type secretError struct {
	reason, message string
	again           time.Duration
}

func (e *secretError) Error() string { return e.message }

// ConditionReason is for the condition that tells of it.
func (e *secretError) ConditionReason() string { return e.reason }

// secretRequeue is when to look again because of an error, or 0.
func secretRequeue(failed error) time.Duration {
	var e *secretError
	if errors.As(failed, &e) {
		return e.again
	}
	return 0
}

// checkSecrets looks at the Secrets of the resource if nodes are about to be made,
// changed or restarted: whatever is wrong with them must not cost a node. In the steady
// state nothing is read.
func (r *Reconciler) checkSecrets(ctx context.Context, m *v1alpha1.Memcached, seen *observed, p *plan) error {
	if !wantsAgent(m) || !m.DeletionTimestamp.IsZero() {
		return nil
	}
	deployment, err := apply.Differs(r.writer, m, seen.deployment, p.deployment)
	if err != nil {
		return err
	}
	statefulSet, err := apply.Differs(r.writer, m, seen.statefulSet, p.statefulSet)
	if err != nil {
		return err
	}
	if !deployment && !statefulSet && (p.step == nil || p.step.state != outdated) {
		return nil
	}
	if r.images.companion == "" {
		return &secretError{reason: reasonNoCompanionImage, message: "tls and auth take a container with the operator's own image beside memcached," +
			" and the operator does not know its name: start it with --companion-image or OPERATOR_IMAGE"}
	}
	_, err = r.access(ctx, m.Namespace, secretsOf(m), wantsClientCertificates(m))
	return err
}

// secretNames are those of the Secrets that a resource or a pod uses; empty for none.
type secretNames struct {
	tls, auth string
}

func secretsOf(m *v1alpha1.Memcached) secretNames {
	var names secretNames
	if m.Spec.TLS != nil {
		names.tls = m.Spec.TLS.SecretName
	}
	if m.Spec.Auth != nil {
		names.auth = m.Spec.Auth.SecretName
	}
	return names
}

// secretsIn are those that a pod was made with, which may be others than its resource
// names today.
func secretsIn(pod *corev1.Pod) secretNames {
	var names secretNames
	if agentIn(&pod.Spec) == nil {
		return names
	}
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.Secret == nil:
		case v.Name == tlsVolume:
			names.tls = v.Secret.SecretName
		case v.Name == authVolume:
			names.auth = v.Secret.SecretName
		}
	}
	return names
}

// nodeClient says how the operator itself reaches a node.
func (r *Reconciler) nodeClient(ctx context.Context, m *v1alpha1.Memcached, pod *corev1.Pod) (*node.Client, error) {
	address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(portOf(pod, m))))
	access, err := r.access(ctx, m.Namespace, secretsIn(pod), false)
	if err != nil {
		return nil, err
	}
	return access.Client(address), nil
}

// access reads Secrets, past the cache. With mutual set clients have to show a
// certificate, which the Secret's must be fit for.
func (r *Reconciler) access(ctx context.Context, namespace string, names secretNames, mutual bool) (credentials.Access, error) {
	var a credentials.Access
	if names.tls != "" {
		files, err := r.readSecret(ctx, namespace, names.tls, "tls")
		if err != nil {
			return a, err
		}
		if a.TLS, err = credentials.ParseTLS(files, mutual); err == nil {
			err = a.TLS.CheckTime(time.Now())
		}
		if err != nil {
			return a, invalidSecret(names.tls, "tls", err)
		}
	}
	if names.auth != "" {
		files, err := r.readSecret(ctx, namespace, names.auth, "auth")
		if err != nil {
			return a, err
		}
		if a.Users, err = credentials.ParseUsers(files); err != nil {
			return a, invalidSecret(names.auth, "auth", err)
		}
	}
	return a, nil
}

func (r *Reconciler) readSecret(ctx context.Context, namespace, name, field string) (credentials.Files, error) {
	secret := &corev1.Secret{}
	err := r.secrets.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &secretError{reason: reasonSecretMissing, again: secretLook, message: fmt.Sprintf(
			"There is no Secret %s, which spec.%s.secretName names: create it, or name another; until then no node is created or changed", name, field)}
	case err != nil:
		return nil, &secretError{reason: reasonSecretUnreadable, again: secretRetry, message: fmt.Sprintf(
			"Secret %s of spec.%s.secretName cannot be read, and until it can no node is created or changed: %v", name, field, err)}
	}
	return secret.Data, nil
}

func invalidSecret(name, field string, err error) error {
	return &secretError{reason: reasonSecretInvalid, again: secretLook, message: fmt.Sprintf(
		"Secret %s of spec.%s.secretName cannot be used: %v; until it is corrected no node is created or changed", name, field, err)}
}
