// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/testenv"
)

const manager = "test-operator"

var env *testenv.Environment

func TestMain(m *testing.M) { testenv.Main(m, &env) }

// fixture is an owner in a namespace of its own and a writer whose requests are counted.
type fixture struct {
	*testing.T
	ctx    context.Context
	client client.Client
	writer *apply.Writer
	owner  *cachev1alpha1.Memcached
	writes int
	// rewrite, if set, changes the intent on its way, as a mutating webhook would.
	rewrite func(runtime.ApplyConfiguration)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, ctx: t.Context(), client: env.Client}
	counting := interceptor.NewClient(withWatch{env.Client}, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			f.writes++
			if f.rewrite != nil {
				f.rewrite(obj)
			}
			return c.Apply(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			f.writes++
			return c.Patch(ctx, obj, patch, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			f.writes++
			return c.Delete(ctx, obj, opts...)
		},
	})
	f.writer = apply.NewWriter(counting, manager)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "apply-"}}
	f.must(f.client.Create(f.ctx, namespace))
	f.owner = f.newOwner(namespace.Name, "owner")
	return f
}

// withWatch lets interceptor wrap a client that cannot watch.
type withWatch struct{ client.Client }

func (withWatch) Watch(context.Context, client.ObjectList, ...client.ListOption) (watchInterface, error) {
	return nil, errors.New("not used")
}

func (f *fixture) newOwner(namespace, name string) *cachev1alpha1.Memcached {
	f.Helper()
	owner := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	f.must(f.client.Create(f.ctx, owner))
	return owner
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) liveDeployment() *appsv1.Deployment {
	f.Helper()
	live := &appsv1.Deployment{}
	err := f.client.Get(f.ctx, types.NamespacedName{Namespace: f.owner.Namespace, Name: "child"}, live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	f.must(err)
	return live
}

func (f *fixture) liveService() *corev1.Service {
	f.Helper()
	live := &corev1.Service{}
	err := f.client.Get(f.ctx, types.NamespacedName{Namespace: f.owner.Namespace, Name: "child"}, live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	f.must(err)
	return live
}

// deployment is an intent with every kind of field that compares in a way of its own.
func (f *fixture) deployment() *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "child"}
	return appsv1ac.Deployment("child", f.owner.Namespace).
		WithLabels(map[string]string{"app": "child", "tier": "cache"}).
		WithAnnotations(map[string]string{"example.com/note": "ours"}).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(2).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxSurge(intstr.FromInt32(1)).
					WithMaxUnavailable(intstr.FromString("25%")))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(corev1ac.PodSpec().
					WithAutomountServiceAccountToken(false).
					WithSecurityContext(corev1ac.PodSecurityContext().
						WithRunAsNonRoot(true).
						WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
					WithInitContainers(
						corev1ac.Container().WithName("first").WithImage("init:1"),
						corev1ac.Container().WithName("second").WithImage("init:2")).
					WithContainers(corev1ac.Container().
						WithName("main").
						WithImage("image:1").
						WithArgs("--memory-limit=64", "--verbose").
						WithEnv(
							corev1ac.EnvVar().WithName("A").WithValue("1"),
							corev1ac.EnvVar().WithName("EMPTY").WithValue(""),
							corev1ac.EnvVar().WithName("FROM").WithValueFrom(corev1ac.EnvVarSource().
								WithFieldRef(corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("metadata.name")))).
						WithPorts(
							corev1ac.ContainerPort().WithName("tcp").WithContainerPort(11211),
							corev1ac.ContainerPort().WithName("udp").WithContainerPort(11211).WithProtocol(corev1.ProtocolUDP)).
						WithResources(corev1ac.ResourceRequirements().
							WithRequests(corev1.ResourceList{
								corev1.ResourceCPU:    resource.MustParse("1000m"),
								corev1.ResourceMemory: resource.MustParse("65536Ki"),
							}).
							WithLimits(corev1.ResourceList{
								corev1.ResourceMemory:           resource.MustParse("0.5Gi"),
								corev1.ResourceEphemeralStorage: resource.MustParse("1e6"),
							})).
						WithReadinessProbe(corev1ac.Probe().
							WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString("tcp"))).
							WithPeriodSeconds(5)).
						WithSecurityContext(corev1ac.SecurityContext().
							WithReadOnlyRootFilesystem(true).
							WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
						WithVolumeMounts(corev1ac.VolumeMount().WithName("tmp").WithMountPath("/tmp"))).
					WithVolumes(corev1ac.Volume().
						WithName("tmp").
						WithEmptyDir(corev1ac.EmptyDirVolumeSource())))))
}

// service has ports without the protocol that is half of their key, and an address that cannot change.
func (f *fixture) service() *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service("child", f.owner.Namespace).
		WithLabels(map[string]string{"app": "child"}).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithSelector(map[string]string{"app": "child"}).
			WithPorts(
				corev1ac.ServicePort().WithName("a").WithPort(1).WithTargetPort(intstr.FromInt32(11)),
				corev1ac.ServicePort().WithName("b").WithPort(2).WithTargetPort(intstr.FromString("b"))))
}

func (f *fixture) applyDeployment(intent *appsv1ac.DeploymentApplyConfiguration) error {
	_, err := apply.Apply(f.ctx, f.writer, f.owner, f.liveDeployment(), intent)
	return err
}

func (f *fixture) applyService(intent *corev1ac.ServiceApplyConfiguration) error {
	_, err := apply.Apply(f.ctx, f.writer, f.owner, f.liveService(), intent)
	return err
}

// expectWrites runs do and checks how many requests it cost.
func (f *fixture) expectWrites(want int, what string, do func() error) {
	f.Helper()
	before := f.writes
	f.must(do())
	if got := f.writes - before; got != want {
		f.Errorf("%s: %d writes, want %d", what, got, want)
	}
}

func TestCreateThenNothing(t *testing.T) {
	f := newFixture(t)
	f.expectWrites(1, "create", func() error { return f.applyDeployment(f.deployment()) })
	f.expectWrites(1, "create", func() error { return f.applyService(f.service()) })
	for range 3 {
		f.expectWrites(0, "settled Deployment", func() error { return f.applyDeployment(f.deployment()) })
		f.expectWrites(0, "settled Service", func() error { return f.applyService(f.service()) })
	}

	// Nothing is remembered in the process: a restarted operator is as quiet.
	f.writer = newFixture(t).writer
	f.expectWrites(0, "restart", func() error { return f.applyDeployment(f.deployment()) })

	controller := metav1.GetControllerOf(f.liveDeployment())
	if controller == nil || controller.UID != f.owner.UID || controller.Kind != "Memcached" {
		t.Errorf("controller is %v", controller)
	}
}

// edits are what people, tools and other controllers do to an object. All but the
// first few touch a field that is ours.
var edits = []struct {
	name string
	want int // requests to settle it: 3 are a refused apply, a reclaim and an apply
	edit func(f *fixture, live *appsv1.Deployment)
}{
	{"foreign annotations", 0, func(f *fixture, live *appsv1.Deployment) {
		for i := range 10 {
			live.Annotations[fmt.Sprintf("foreign.example.com/%d", i)] = "x"
		}
		f.must(f.client.Update(f.ctx, live))
	}},
	{"foreign template annotation, as of rollout restart", 0, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.StrategicMergePatchType, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)
	}},
	{"injected sidecar", 0, func(f *fixture, live *appsv1.Deployment) {
		spec := &live.Spec.Template.Spec
		spec.Containers = append([]corev1.Container{{Name: "mesh", Image: "mesh:1"}}, spec.Containers...)
		f.must(f.client.Update(f.ctx, live))
	}},
	{"injected environment and port", 0, func(f *fixture, live *appsv1.Deployment) {
		c := &live.Spec.Template.Spec.Containers[0]
		c.Env = append(c.Env, corev1.EnvVar{Name: "B", Value: "2"})
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: 9})
		f.must(f.client.Update(f.ctx, live))
	}},
	{"defaulted field set by hand", 0, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.MergePatchType, `{"spec":{"revisionHistoryLimit":3}}`)
	}},
	{"field set to the value it has", 0, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.MergePatchType, `{"spec":{"replicas":2}}`)
	}},
	{"status", 0, func(f *fixture, live *appsv1.Deployment) {
		live.Status.Replicas, live.Status.ObservedGeneration = 2, live.Generation
		f.must(f.client.Status().Update(f.ctx, live))
	}},
	{"image by update", 1, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.Containers[0].Image = "image:hand"
		f.must(f.client.Update(f.ctx, live))
	}},
	{"image by strategic merge patch, as of kubectl edit", 1, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"image:hand"}]}}}}`)
	}},
	{"image by JSON patch", 1, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.JSONPatchType, `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"image:hand"}]`)
	}},
	{"image there and back", 1, func(f *fixture, live *appsv1.Deployment) {
		for _, image := range []string{"image:hand", "image:1"} {
			live.Spec.Template.Spec.Containers[0].Image = image
			f.must(f.client.Update(f.ctx, live))
		}
	}},
	{"replicas", 1, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.MergePatchType, `{"spec":{"replicas":7}}`)
	}},
	{"replicas by scale subresource, as of kubectl scale", 1, func(f *fixture, live *appsv1.Deployment) {
		f.must(f.client.SubResource("scale").Update(f.ctx, live, client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: live.Namespace, Name: live.Name},
			Spec:       autoscalingv1.ScaleSpec{Replicas: 7},
		})))
	}},
	{"fields by forced apply of another manager", 1, func(f *fixture, live *appsv1.Deployment) {
		f.must(f.client.Apply(f.ctx, appsv1ac.Deployment(live.Name, live.Namespace).
			WithLabels(map[string]string{"tier": "other"}).
			WithSpec(appsv1ac.DeploymentSpec().WithReplicas(9)),
			client.FieldOwner("other"), client.ForceOwnership))
	}},
	{"field shared with another manager's apply", 0, func(f *fixture, live *appsv1.Deployment) {
		f.must(f.client.Apply(f.ctx, appsv1ac.Deployment(live.Name, live.Namespace).
			WithLabels(map[string]string{"tier": "cache"}), client.FieldOwner("other")))
	}},
	{"label removed", 1, func(f *fixture, live *appsv1.Deployment) {
		delete(live.Labels, "tier")
		f.must(f.client.Update(f.ctx, live))
	}},
	{"all labels removed", 1, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.MergePatchType, `{"metadata":{"labels":null}}`)
	}},
	{"annotation changed", 1, func(f *fixture, live *appsv1.Deployment) {
		live.Annotations["example.com/note"] = "hand"
		f.must(f.client.Update(f.ctx, live))
	}},
	{"argument added", 1, func(f *fixture, live *appsv1.Deployment) {
		c := &live.Spec.Template.Spec.Containers[0]
		c.Args = append(c.Args, "--more")
		f.must(f.client.Update(f.ctx, live))
	}},
	{"port name", 1, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.Containers[0].Ports[1].Name = "hand"
		f.must(f.client.Update(f.ctx, live))
	}},
	{"port removed", 1, func(f *fixture, live *appsv1.Deployment) {
		c := &live.Spec.Template.Spec.Containers[0]
		c.Ports = c.Ports[:1]
		f.must(f.client.Update(f.ctx, live))
	}},
	{"port protocol", 3, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.Containers[0].Ports[0].Protocol = corev1.ProtocolSCTP
		f.must(f.client.Update(f.ctx, live))
	}},
	{"environment value", 1, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.Containers[0].Env[1].Value = "hand"
		f.must(f.client.Update(f.ctx, live))
	}},
	{"environment source replaced by value", 3, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.Containers[0].Env[2] = corev1.EnvVar{Name: "FROM", Value: "hand"}
		f.must(f.client.Update(f.ctx, live))
	}},
	{"quantity", 1, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("999m")
		f.must(f.client.Update(f.ctx, live))
	}},
	{"quantity in other words", 0, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1000m","memory":"65536Ki"}}}]}}}}`)
	}},
	{"int or string", 1, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.MergePatchType, `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":"50%"}}}}`)
	}},
	{"strategy replaced", 1, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.JSONPatchType, `[{"op":"replace","path":"/spec/strategy","value":{"type":"Recreate"}}]`)
	}},
	{"empty struct replaced", 3, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		f.must(f.client.Update(f.ctx, live))
	}},
	// The volume source stays ours; what stands in it is another's, as with any struct.
	{"empty struct filled", 0, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.Volumes[0].EmptyDir.Medium = corev1.StorageMediumMemory
		f.must(f.client.Update(f.ctx, live))
	}},
	{"false made true", 1, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.MergePatchType, `{"spec":{"template":{"spec":{"automountServiceAccountToken":true}}}}`)
	}},
	{"false removed", 1, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.MergePatchType, `{"spec":{"template":{"spec":{"automountServiceAccountToken":null}}}}`)
	}},
	{"probe removed", 1, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.Containers[0].ReadinessProbe = nil
		f.must(f.client.Update(f.ctx, live))
	}},
	{"pod security context removed", 1, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.SecurityContext = nil
		f.must(f.client.Update(f.ctx, live))
	}},
	{"container replaced", 1, func(f *fixture, live *appsv1.Deployment) {
		live.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
		live.Spec.Template.Spec.Volumes = nil
		f.must(f.client.Update(f.ctx, live))
	}},
	{"init containers reordered", 1, func(f *fixture, live *appsv1.Deployment) {
		c := live.Spec.Template.Spec.InitContainers
		c[0], c[1] = c[1], c[0]
		f.must(f.client.Update(f.ctx, live))
	}},
	{"owner reference removed", 1, func(f *fixture, live *appsv1.Deployment) {
		live.OwnerReferences = nil
		f.must(f.client.Update(f.ctx, live))
	}},
	{"owner reference no longer controller", 1, func(f *fixture, live *appsv1.Deployment) {
		live.OwnerReferences[0].Controller = nil
		f.must(f.client.Update(f.ctx, live))
	}},
	{"second owner", 0, func(f *fixture, live *appsv1.Deployment) {
		live.OwnerReferences = append(live.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"})
		f.must(f.client.Update(f.ctx, live))
	}},
	{"managed fields wiped", 1, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.MergePatchType, `{"metadata":{"managedFields":[{}]}}`)
	}},
	{"managed fields wiped and image changed", 1, func(f *fixture, live *appsv1.Deployment) {
		f.patch(live, types.MergePatchType, `{"metadata":{"managedFields":[{}]}}`)
		f.patch(live, types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"image:hand"}]}}}}`)
	}},
}

func (f *fixture) patch(live *appsv1.Deployment, kind types.PatchType, patch string) {
	f.Helper()
	f.must(f.client.Patch(f.ctx, live, client.RawPatch(kind, []byte(patch))))
}

func TestEdits(t *testing.T) {
	for _, test := range edits {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.must(f.applyDeployment(f.deployment()))
			original := f.liveDeployment()

			test.edit(f, f.liveDeployment())
			edited := f.liveDeployment()
			f.expectWrites(test.want, "repair", func() error { return f.applyDeployment(f.deployment()) })
			f.expectWrites(0, "after the repair", func() error { return f.applyDeployment(f.deployment()) })

			repaired := f.liveDeployment()
			if test.want == 0 {
				if repaired.ResourceVersion != edited.ResourceVersion {
					t.Error("the object was written")
				}
				return
			}
			if got, want := specOf(t, repaired), specOf(t, original); got != want {
				t.Errorf("after the repair:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// specOf is what must be the same after a repair as before the edit.
func specOf(t *testing.T, d *appsv1.Deployment) string {
	t.Helper()
	d = d.DeepCopy()
	d.ObjectMeta = metav1.ObjectMeta{Labels: d.Labels, Annotations: d.Annotations, OwnerReferences: d.OwnerReferences}
	d.Status = appsv1.DeploymentStatus{}
	return toYAML(t, d)
}

func TestRemovedFieldsAreRemoved(t *testing.T) {
	f := newFixture(t)
	f.must(f.applyDeployment(f.deployment()))

	smaller := f.deployment()
	delete(smaller.Labels, "tier")
	smaller.Annotations = nil
	smaller.Spec.Replicas = nil
	smaller.Spec.Strategy = nil
	pod := smaller.Spec.Template.Spec
	pod.InitContainers = nil
	pod.SecurityContext = nil
	c := &pod.Containers[0]
	c.Env = c.Env[:1]
	c.Ports = c.Ports[:1]
	c.Resources.Limits = nil
	c.ReadinessProbe = nil
	c.VolumeMounts, pod.Volumes = nil, nil
	withUnset := f.copyOf(smaller)

	f.expectWrites(1, "remove", func() error { return f.applyDeployment(smaller) })
	f.expectWrites(0, "after", func() error { return f.applyDeployment(f.copyOf(withUnset)) })
	unset := f.liveDeployment()

	// A field set and then unset must leave what never having set it leaves.
	f.must(f.client.Delete(f.ctx, unset, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	f.must(f.applyDeployment(f.copyOf(withUnset)))
	if got, want := specOf(t, unset), specOf(t, f.liveDeployment()); got != want {
		t.Errorf("set and unset:\n%s\nnever set:\n%s", got, want)
	}
}

// A limit, and a known one: what was there when managedFields were wiped counts as
// somebody else's from then on, and stays when the intent no longer has it.
func TestRemovedFieldStaysAfterWipe(t *testing.T) {
	f := newFixture(t)
	f.must(f.applyDeployment(f.deployment()))
	f.patch(f.liveDeployment(), types.MergePatchType, `{"metadata":{"managedFields":[{}]}}`)
	f.must(f.applyDeployment(f.deployment()))
	smaller := f.deployment()
	delete(smaller.Labels, "tier")
	f.must(f.applyDeployment(smaller))
	if f.liveDeployment().Labels["tier"] == "" {
		t.Error("the limit is gone: remove it from the package comment")
	}
}

// copyOf keeps an intent from being consumed.
func (f *fixture) copyOf(intent *appsv1ac.DeploymentApplyConfiguration) *appsv1ac.DeploymentApplyConfiguration {
	f.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(intent)
	f.must(err)
	c := &appsv1ac.DeploymentApplyConfiguration{}
	f.must(runtime.DefaultUnstructuredConverter.FromUnstructured(fields, c))
	return c
}

func TestServiceEdits(t *testing.T) {
	f := newFixture(t)
	do := func() error { return f.applyService(f.service()) }
	f.must(do())
	for _, test := range []struct{ name, patch string }{
		{"selector key added", `{"spec":{"selector":{"more":"x"}}}`},
		{"selector value", `{"spec":{"selector":{"app":"other"}}}`},
		{"selector removed", `{"spec":{"selector":null}}`},
		{"ports replaced", `{"spec":{"ports":[{"name":"a","port":1}]}}`},
		{"target port", `{"spec":{"ports":[{"name":"a","port":1,"targetPort":11},{"name":"b","port":2,"targetPort":2}]}}`},
	} {
		f.must(f.client.Patch(f.ctx, f.liveService(), client.RawPatch(types.MergePatchType, []byte(test.patch))))
		f.expectWrites(1, test.name, do)
		f.expectWrites(0, "after: "+test.name, do)
		spec := f.liveService().Spec
		if len(spec.Selector) != 1 || spec.Selector["app"] != "child" || len(spec.Ports) != 2 || spec.Ports[1].TargetPort.StrVal != "b" {
			t.Errorf("%s: not repaired: %v", test.name, spec)
		}
	}
}

func TestForeignObjectsAreRefused(t *testing.T) {
	tests := []struct {
		name string
		want string
		make func(f *fixture)
	}{
		{"without a controller", "was not created by this operator", func(f *fixture) {
			f.must(f.client.Create(f.ctx, foreignDeployment(f.owner.Namespace)))
		}},
		{"of another resource of the same kind", "belongs to Memcached other", func(f *fixture) {
			other := f.newOwner(f.owner.Namespace, "other")
			_, err := apply.Apply(f.ctx, f.writer, other, f.liveDeployment(), f.deployment())
			f.must(err)
		}},
		{"of a former owner with the same name", "belongs to Memcached owner", func(f *fixture) {
			f.must(f.applyDeployment(f.deployment()))
			f.must(f.client.Delete(f.ctx, f.owner))
			f.owner = f.newOwner(f.owner.Namespace, f.owner.Name)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			test.make(f)
			before, writes := f.liveDeployment(), f.writes

			err := f.applyDeployment(f.deployment())
			var notOwned *apply.NotOwnedError
			if !errors.As(err, &notOwned) || notOwned.Object.GetName() != "child" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("apply: %v", err)
			}
			if err := apply.Delete(f.ctx, f.writer, f.owner, f.liveDeployment()); !errors.As(err, &notOwned) {
				t.Errorf("delete: %v", err)
			}
			if after := f.liveDeployment(); f.writes != writes || after.ResourceVersion != before.ResourceVersion {
				t.Error("a foreign object was written")
			}
		})
	}
}

func foreignDeployment(namespace string) *appsv1.Deployment {
	labels := map[string]string{"app": "foreign"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "child"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}

// The cache may show an object that has been replaced since by someone else.
func TestReplacedObjectIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	f.must(f.applyDeployment(f.deployment()))
	stale := f.liveDeployment()
	f.must(f.client.Delete(f.ctx, f.liveDeployment()))
	changed := func() *appsv1ac.DeploymentApplyConfiguration {
		d := f.deployment()
		d.Spec.WithReplicas(5)
		return d
	}

	if _, err := apply.Apply(f.ctx, f.writer, f.owner, stale, changed()); !apierrors.IsConflict(err) {
		t.Errorf("apply to a deleted object: %v", err)
	}
	if f.liveDeployment() != nil {
		t.Error("a deleted object came back")
	}

	f.must(f.client.Create(f.ctx, foreignDeployment(f.owner.Namespace)))
	foreign := f.liveDeployment()
	if _, err := apply.Apply(f.ctx, f.writer, f.owner, stale, changed()); err == nil {
		t.Error("apply to a replaced object succeeded")
	} else {
		t.Log(err)
	}
	if err := apply.Delete(f.ctx, f.writer, f.owner, stale); !apierrors.IsConflict(err) {
		t.Errorf("delete of a replaced object: %v", err)
	}
	if after := f.liveDeployment(); after == nil || after.ResourceVersion != foreign.ResourceVersion {
		t.Error("a foreign object was written")
	}
}

func TestTerminatingObjectIsWaitedFor(t *testing.T) {
	f := newFixture(t)
	f.must(f.applyDeployment(f.deployment()))
	live := f.liveDeployment()
	live.Finalizers = []string{"example.com/hold"}
	f.must(f.client.Update(f.ctx, live))
	f.expectWrites(1, "delete", func() error { return apply.Delete(f.ctx, f.writer, f.owner, f.liveDeployment()) })
	f.expectWrites(0, "delete again", func() error { return apply.Delete(f.ctx, f.writer, f.owner, f.liveDeployment()) })

	var terminating *apply.TerminatingError
	if err := f.applyDeployment(f.deployment()); !errors.As(err, &terminating) {
		t.Errorf("apply: %v", err)
	}
	f.patch(f.liveDeployment(), types.MergePatchType, `{"metadata":{"finalizers":null}}`)
	f.expectWrites(1, "create again", func() error { return f.applyDeployment(f.deployment()) })
	f.must(apply.Delete(f.ctx, f.writer, f.owner, (*appsv1.Deployment)(nil)))
}

// What the API server stores for a struct that is owned as a whole includes its
// defaults, which cannot be told from values that the intent once had. It costs one
// request in the life of a process; intents should spell such defaults out.
func TestDefaultInAtomicStruct(t *testing.T) {
	f := newFixture(t)
	do := func() error {
		d := f.deployment()
		d.Spec.Template.Spec.Containers[0].Env[2].ValueFrom.FieldRef.APIVersion = nil
		return f.applyDeployment(d)
	}
	f.expectWrites(1, "create", do)
	f.expectWrites(1, "the one question", do)
	f.expectWrites(0, "same question", do)
}

// The answer is what the status of the owner is computed from.
func TestAnswer(t *testing.T) {
	f := newFixture(t)
	created, err := apply.Apply(f.ctx, f.writer, f.owner, f.liveDeployment(), f.deployment())
	f.must(err)
	live := f.liveDeployment()
	if created.UID != live.UID || created.Generation != 1 || created.ResourceVersion != live.ResourceVersion ||
		*created.Spec.RevisionHistoryLimit != 10 {
		t.Errorf("answer to a create: %v", created)
	}
	skipped, err := apply.Apply(f.ctx, f.writer, f.owner, live, f.deployment())
	f.must(err)
	if skipped != live {
		t.Error("a skipped apply must return the live object")
	}
	larger := f.deployment()
	larger.Spec.WithReplicas(3)
	updated, err := apply.Apply(f.ctx, f.writer, f.owner, live, larger)
	f.must(err)
	if updated.Generation != 2 || *updated.Spec.Replicas != 3 {
		t.Errorf("answer to an update: %v", updated)
	}
}

// A webhook, or an API server that does not know a field, stores something else
// than what was asked, every time.
func TestSameAnswerIsNotAskedForAgain(t *testing.T) {
	f := newFixture(t)
	f.rewrite = func(obj runtime.ApplyConfiguration) {
		obj.(*appsv1ac.DeploymentApplyConfiguration).Spec.Template.Spec.Containers[0].WithImage("mirror/image:1")
	}
	do := func() error { return f.applyDeployment(f.deployment()) }
	f.expectWrites(1, "create", do)
	f.expectWrites(1, "the one question", do)
	f.expectWrites(0, "same question", do)

	live := f.liveDeployment()
	live.Annotations["foreign.example.com/x"] = "x"
	f.must(f.client.Update(f.ctx, live))
	f.expectWrites(0, "same question after a foreign change", do)

	f.patch(f.liveDeployment(), types.MergePatchType, `{"spec":{"replicas":7}}`)
	f.expectWrites(1, "repair", do)
	f.expectWrites(1, "the one question again", do)
	f.expectWrites(0, "same question again", do)

	changed := func() error {
		d := f.deployment()
		d.Spec.WithReplicas(3)
		return f.applyDeployment(d)
	}
	f.expectWrites(1, "changed intent", changed)
	if got := *f.liveDeployment().Spec.Replicas; got != 3 {
		t.Errorf("%d replicas", got)
	}
}
