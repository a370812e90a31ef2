// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// How is an application stopped for its maintenance, and started again?
//
// When the switch to the page is done, so that nothing new reaches the application and
// what it held had its time, the number of its pods is written into an annotation and
// set to zero, in one write. When the page is to go the number is set back, while the
// annotation stays: it tells that the application has to be up as a whole, and not with
// its first pod, before traffic returns. The annotation goes when traffic has returned.
// All of it is in the Deployment, so that no restart of the operator can lose it.

// scale is the change that the application's Deployment needs, or nil.
func scale(m *v1alpha1.MaintPage, seen *observed, d demand, history []v1alpha1.Switch) func(*appsv1.Deployment) {
	deployment := seen.deployment
	if deployment == nil || !deployment.DeletionTimestamp.IsZero() {
		return nil
	}
	replicas := ptr.Deref(deployment.Spec.Replicas, 1)
	original, scaled := originalReplicas(deployment)
	switch {
	case releasing(m) && scaled && seen.service == nil: // nobody waits for it
		return func(d *appsv1.Deployment) {
			d.Spec.Replicas = ptr.To(max(original, replicas))
			delete(d.Annotations, annotationReplicas)
		}
	case rests(m, d) && stageOf(m, history, seen) == done && replicas > 0:
		if scaled {
			// Somebody has started it: it is stopped again, and the first number counts.
			return func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](0) }
		}
		return func(d *appsv1.Deployment) {
			if d.Annotations == nil {
				d.Annotations = map[string]string{}
			}
			d.Annotations[annotationReplicas] = strconv.Itoa(int(replicas))
			d.Spec.Replicas = ptr.To[int32](0)
		}
	case scaled && !rests(m, d) && replicas == 0:
		return func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(original) }
	case scaled && d.side == appSide && stageOf(m, history, seen) > moving:
		return func(d *appsv1.Deployment) { delete(d.Annotations, annotationReplicas) }
	default:
		return nil
	}
}

// rests reports whether the application is to be stopped while the page is published.
// An outage is no maintenance: what is broken is left to come back.
func rests(m *v1alpha1.MaintPage, d demand) bool {
	return m.Spec.OnPublish == v1alpha1.OnPublishScaleToZero && d.side == pageSide && d.cause != v1alpha1.CauseOutage
}

// originalReplicas is the number of pods that the application gets back.
func originalReplicas(deployment *appsv1.Deployment) (replicas int32, scaled bool) {
	if deployment == nil {
		return 0, false
	}
	text, scaled := deployment.Annotations[annotationReplicas]
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		n = 1 // somebody has changed it; a running application is the least wrong
	}
	return int32(n), scaled
}

// wasScaled reports whether the application has been stopped and is not back yet.
func wasScaled(deployment *appsv1.Deployment) bool {
	_, scaled := originalReplicas(deployment)
	return scaled
}
