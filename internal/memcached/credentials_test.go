// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/credentials/credentialstest"
)

// secret creates or replaces a Secret.
func (f *fixture) secret(name string, files credentials.Files) {
	f.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, Data: files}
	f.must(client.IgnoreNotFound(f.Delete(f.ctx, secret)))
	secret.ResourceVersion = ""
	f.must(f.Create(f.ctx, secret))
}

// poke makes the operator look now; by itself it does every 30 seconds.
func (f *fixture) poke() {
	f.Helper()
	m := read(f, "sample", &v1alpha1.Memcached{})
	f.must(f.Patch(f.ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/poke":"`+time.Now().String()+`"}}}`))))
}

func (f *fixture) expectReads(what string, want ...string) {
	f.Helper()
	f.operator.Settle(f.T)
	var got []string
	for _, request := range f.operator.Reads() {
		_, object, _ := strings.Cut(request, f.namespace+"/")
		got = append(got, object)
	}
	if !slices.Equal(got, want) {
		f.Errorf("%s: read past the cache: %q, want %q", what, got, want)
	}
	f.operator.Reset()
}

// Nothing is made or changed with a Secret that cannot be used, and the condition says
// what to do. Nothing is read when there is nothing to do.
func TestSecretsAreCheckedFirst(t *testing.T) {
	f := newFixture(t)
	authority := credentialstest.NewAuthority(t, "authority")
	good := authority.Issue(t)
	m := f.create("sample", v1alpha1.MemcachedSpec{
		Size: ptr.To[int32](1),
		TLS:  &v1alpha1.MemcachedTLS{SecretName: "certificate", ClientAuth: v1alpha1.ClientAuthRequire},
		Auth: &v1alpha1.MemcachedAuth{SecretName: "users"},
	})
	f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "SecretMissing")

	say := func(reason, words string) {
		t.Helper()
		f.poke()
		f.operator.Settle(t)
		m := f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionTrue, reason)
		message := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionDegraded).Message
		if !strings.Contains(message, words) || m.Status.Phase != v1alpha1.PhaseDegraded {
			t.Errorf("%s: %s", m.Status.Phase, message)
		}
	}
	f.secret("certificate", credentials.Files{"tls.crt": good["tls.crt"]})
	say("SecretInvalid", "Secret certificate of spec.tls.secretName cannot be used: key tls.key is missing")
	f.secret("certificate", good)
	say("SecretMissing", "There is no Secret users, which spec.auth.secretName names")
	f.secret("users", credentials.Files{"users": []byte("nobody")})
	say("SecretInvalid", "Secret users of spec.auth.secretName cannot be used: key users is wrong: user 1 is not name:password")
	f.operator.Settle(t)
	for _, write := range f.operator.Writes() {
		if !strings.HasSuffix(write, "/memcacheds/sample/status") {
			t.Errorf("%s without usable Secrets", write)
		}
	}

	f.secret("users", credentials.Files{"username": []byte("u"), "password": []byte("p")})
	f.operator.Reset()
	f.poke()
	f.eventually(v1alpha1.ConditionProgressing, metav1.ConditionTrue, "Creating")
	f.expectReads("good Secrets", "secrets/certificate", "secrets/users")
	d := read(f, "sample", &appsv1.Deployment{})
	if agent := d.Spec.Template.Spec.InitContainers; len(agent) != 1 || agent[0].Image != "example.com/operator:1" || *agent[0].RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Errorf("%+v", agent)
	}

	f.run("sample")
	f.eventually(v1alpha1.ConditionAvailable, metav1.ConditionTrue, "AllNodesReady")
	f.poke()
	f.expectReads("steady state")
	f.must(f.Patch(f.ctx, d, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/template/spec/initContainers/0/image","value":"hand:1"}]`))))
	f.operator.Settle(t)
	f.report("sample")
	if d = read(f, "sample", &appsv1.Deployment{}); d.Spec.Template.Spec.InitContainers[0].Image != "example.com/operator:1" {
		t.Errorf("an edit by hand is not repaired: %s", d.Spec.Template.Spec.InitContainers[0].Image)
	}
	f.eventually(v1alpha1.ConditionAvailable, metav1.ConditionTrue, "AllNodesReady")
	f.operator.Stop(t)
	f.operator = start(t, "--watch-namespaces="+f.namespace, "--companion-image=example.com/operator:2")
	f.expectWrites("a new operator")
	f.expectReads("a new operator")

	// What runs is left as it is while a change cannot be made.
	f.must(f.Delete(f.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "users"}}))
	f.poke()
	f.expectReads("a missing Secret in the steady state")
	f.must(f.Patch(f.ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"threads":2}}`))))
	f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "SecretMissing")
	f.expectWrites("a change without a Secret", "PATCH memcacheds/sample/status")
	if after := read(f, "sample", &appsv1.Deployment{}); after.Generation != d.Generation {
		t.Error("the Deployment was changed")
	}
	// Without a use for it, it is not needed any more.
	f.must(f.Patch(f.ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"auth":null,"tls":null}}`))))
	f.eventually(v1alpha1.ConditionProgressing, metav1.ConditionTrue, "Updating")
	f.expectReads("neither")
	// And what is in nobody's way does not keep it from going.
	f.must(f.Delete(f.ctx, read(f, "sample", &v1alpha1.Memcached{})))
	f.operator.Settle(t)
}

func TestNoImageForTheAgent(t *testing.T) {
	f := &fixture{T: t, Client: env.Client, ctx: t.Context()}
	f.namespace = f.newNamespace()
	f.operator = start(t, "--watch-namespaces="+f.namespace, "--companion-image=")
	f.create("sample", v1alpha1.MemcachedSpec{Auth: &v1alpha1.MemcachedAuth{SecretName: "users"}})
	f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "NoCompanionImage")
	f.expectWrites("no image", "PATCH memcacheds/sample/status")
}
