// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/podstate"
)

// How is the page run?
//
// As one pod, under the name that users know, or with page.replicas above one by a
// Deployment. A pod cannot be changed, its name is taken until it is gone, and on a
// lost node it may never go. So where the one pod has to be replaced, or is going,
// the same Deployment stands in for it with one pod, until the new one serves.
// A side that has the traffic is never removed before the other serves.

// planPage says what has to be done about the pods of the page.
func (p *plan) planPage(m *v1alpha1.MaintPage, seen *observed, image, contentHash string) {
	ports := pagePorts(m, seen)
	if len(ports) == 0 {
		return
	}
	current, _ := currentSide(m, seen)
	serving := current == pageSide
	intent := pod(m, image, ports, contentHash)
	exists := ours(m, seen.pod) != nil
	isOutdated := exists && seen.pod.Annotations[annotationTemplate] != intent.Annotations[annotationTemplate]
	serves := exists && podstate.Ready(seen.pod) && !isOutdated
	deploymentServes := ours(m, seen.pageDeployment) != nil && available(seen.pageDeployment) &&
		seen.pageDeployment.Status.UpdatedReplicas == ptr.Deref(seen.pageDeployment.Spec.Replicas, 1)

	replicas := m.Spec.Page.Replicas
	if replicas > 1 {
		if exists && deploymentServes {
			p.pod = apply.Remove[*corev1ac.PodApplyConfiguration]()
		}
	} else {
		replicas = 0
		leaving := exists && (isOutdated || podstate.Ended(seen.pod) || !seen.pod.DeletionTimestamp.IsZero())
		stands := ours(m, seen.pageDeployment) != nil
		if !serves && (stands || leaving && (serving || overdue(seen))) {
			replicas = 1
		}
		switch {
		case !leaving:
			p.pod = apply.Write(intent)
		case !serving || deploymentServes || podstate.Ended(seen.pod):
			p.pod = apply.Remove[*corev1ac.PodApplyConfiguration]()
		}
	}
	if replicas > 0 {
		p.pageDeployment = apply.Write(pageDeployment(m, image, ports, replicas))
	} else if ours(m, seen.pageDeployment) != nil {
		p.pageDeployment = apply.Remove[*appsv1ac.DeploymentApplyConfiguration]()
	}
	p.budget = apply.Optional(podDisruptionBudget(m), ours(m, seen.budget) != nil)
}

// overdue reports whether the page's pod should be gone and is not, as on a lost node.
func overdue(seen *observed) bool {
	return seen.pod != nil && !seen.pod.DeletionTimestamp.IsZero() && !seen.now.Before(seen.pod.DeletionTimestamp.Time)
}

// pageServes reports whether the page can take the traffic. A pod that is to be
// replaced by a better one cannot.
func (p *plan) pageServes(m *v1alpha1.MaintPage, seen *observed) bool {
	if lacksContent(m, seen) {
		return false
	}
	for i := range seen.pagePods {
		if podstate.Ready(&seen.pagePods[i]) && (!p.pod.Removes() || seen.pagePods[i].Name != podName(m)) {
			return true
		}
	}
	return false
}
