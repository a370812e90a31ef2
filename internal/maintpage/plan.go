// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
)

// plan is what has to be done. Its zero value leaves everything as it is.
type plan struct {
	finalizer      edit[v1alpha1.MaintPage]
	content        apply.Child[*corev1ac.ConfigMapApplyConfiguration]
	pod            apply.Child[*corev1ac.PodApplyConfiguration]
	pageDeployment apply.Child[*appsv1ac.DeploymentApplyConfiguration]
	budget         apply.Child[*policyv1ac.PodDisruptionBudgetApplyConfiguration]
	deployment     apply.Child[*appsv1ac.DeploymentApplyConfiguration]
	service        apply.Child[*corev1ac.ServiceApplyConfiguration]

	// history is that before anything is done: afterwards a switch that is taken back
	// looks like one that never was.
	history []v1alpha1.Switch
	scale   edit[appsv1.Deployment] // the application, if it has to be stopped or started
	lead    edit[corev1.Service]    // an adopted Service
}

// edit changes some fields of an object. Nil changes nothing.
type edit[T any] func(*T)

// decide plans the next step. It does nothing for a resource that is being deleted,
// whose children the garbage collector removes, unless it has something to give back.
func decide(m *v1alpha1.MaintPage, seen *observed, d demand, image string) plan {
	p := plan{history: m.Status.History}
	switch {
	case seen.rival != "" && !releasing(m), !m.DeletionTimestamp.IsZero() && !releasing(m):
		return p
	case m.Spec.Adopt && !releasing(m) && notAdoptable(m, seen) != nil:
		return p
	}
	p.history = advance(m, m.Status.History, seen, d)
	if releasing(m) && isReleased(m, seen, p.history) {
		// Nothing else: in a namespace that is going, nothing else can be written.
		p.lead = unmark
		p.finalizer = func(m *v1alpha1.MaintPage) { controllerutil.RemoveFinalizer(m, finalizer) }
		return p
	}
	shown := ""
	if intent := content(m, seen, d); intent != nil {
		p.content = apply.Write(intent)
		shown = contentHash(intent.Data)
	} else if live := ours(m, seen.content); live != nil {
		shown = contentHash(live.Data)
		if !builtIn(m) {
			p.content = apply.Remove[*corev1ac.ConfigMapApplyConfiguration]()
		}
	}
	p.planPage(m, seen, image, shown)
	p.scale = scale(m, seen, d, p.history)
	next := p.nextSide(m, seen, d)
	truce := seen.now.Before(seen.truce)
	if !borrows(m) {
		p.deployment = apply.Write(deployment(m, seen))
		if !truce {
			p.service = apply.Write(service(m, seen, next))
		}
		return p
	}

	switch current, known := currentSide(m, seen); {
	case !releasing(m) && !controllerutil.ContainsFinalizer(m, finalizer):
		p.finalizer = func(m *v1alpha1.MaintPage) { controllerutil.AddFinalizer(m, finalizer) }
	case !truce && (!known || current != next):
		p.lead = lead(m, seen, next)
	}
	return p
}

// ours is the object if it belongs to the resource, and nil if it is somebody else's.
func ours[T any, P interface {
	*T
	metav1.Object
}](m *v1alpha1.MaintPage, object P) P {
	if object == nil || !metav1.IsControlledBy(object, m) {
		return nil
	}
	return object
}

// apply carries the plan out and updates what was seen. One child that fails does not
// keep the others from being written. Content comes before the pods that show it, and
// the finalizer goes only when everything else is done.
func (r *Reconciler) apply(ctx context.Context, m *v1alpha1.MaintPage, seen *observed, p plan) error {
	if err := errors.Join(
		apply.CarryOut(ctx, r.writer, m, &seen.content, p.content),
		apply.CarryOut(ctx, r.writer, m, &seen.pod, p.pod),
		apply.CarryOut(ctx, r.writer, m, &seen.pageDeployment, p.pageDeployment),
		apply.CarryOut(ctx, r.writer, m, &seen.budget, p.budget),
		apply.CarryOut(ctx, r.writer, m, &seen.deployment, p.deployment),
		apply.CarryOut(ctx, r.writer, m, &seen.service, p.service),
		r.nudge(ctx, m, seen),
		carryOut(ctx, r.writer, &seen.deployment, p.scale),
		carryOut(ctx, r.writer, &seen.service, p.lead),
	); err != nil {
		return err
	}
	seen.countPod(m)
	return carryOut(ctx, r.writer, &m, p.finalizer)
}

func carryOut[T any, L apply.Live[T]](ctx context.Context, w *apply.Writer, live *L, change edit[T]) error {
	if change == nil || *live == nil {
		return nil
	}
	edited, err := apply.Edit(ctx, w, *live, func(l L) { change(l) })
	if err == nil {
		*live = edited
	}
	return err
}

// nudge makes the kubelet show new content in the Deployment's pods at once; the
// single pod has the annotation from its own intent.
func (r *Reconciler) nudge(ctx context.Context, m *v1alpha1.MaintPage, seen *observed) error {
	content := ours(m, seen.content)
	if content == nil {
		return nil
	}
	hash := contentHash(content.Data)
	var failed error
	for i := range seen.pagePods {
		live := &seen.pagePods[i]
		if metav1.IsControlledBy(live, m) || !live.DeletionTimestamp.IsZero() {
			continue
		}
		_, err := apply.Edit(ctx, r.writer, live, func(pod *corev1.Pod) {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, annotationContent, hash)
		})
		failed = errors.Join(failed, err)
	}
	return failed
}
