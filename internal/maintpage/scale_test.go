// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

func TestScale(t *testing.T) {
	toPage := demand{side: pageSide, cause: v1alpha1.CauseToggle}
	toApp := demand{side: appSide, cause: v1alpha1.CauseToggle}
	outage := demand{side: pageSide, cause: v1alpha1.CauseOutage}
	isDone := func(to side) v1alpha1.Switch { return switched(to, -time.Hour) }
	at := func(to side, moved time.Duration) v1alpha1.Switch {
		s := v1alpha1.Switch{To: to.publishStatus(), StartTime: metav1.NewTime(noon.Add(-time.Hour))}
		if moved > 0 {
			s.TrafficMovedTime = metav1.NewTime(noon.Add(-moved))
		}
		return s
	}
	stopping, keeping := sample(scaling), sample()
	gone := func(d *appsv1.Deployment) { d.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) }
	tests := []struct {
		name       string
		m          *v1alpha1.MaintPage
		d          demand
		last       v1alpha1.Switch
		replicas   int32
		annotation string
		change     func(*appsv1.Deployment)
		want       string // replicas and annotation after it; empty if nothing is to be done
	}{
		{"not wanted", keeping, toPage, isDone(pageSide), 3, "", nil, ""},
		{"drained", stopping, toPage, isDone(pageSide), 3, "", nil, "0 3"},
		{"drained just now", stopping, toPage, at(pageSide, 30*time.Second), 3, "", nil, "0 3"},
		{"draining", stopping, toPage, at(pageSide, 29*time.Second), 3, "", nil, ""},
		{"settling", stopping, toPage, at(pageSide, time.Second), 3, "", nil, ""},
		{"moving", stopping, toPage, at(pageSide, 0), 3, "", nil, ""},
		{"stopped", stopping, toPage, isDone(pageSide), 0, "3", nil, ""},
		{"started by somebody", stopping, toPage, isDone(pageSide), 2, "3", nil, "0 3"},
		{"had no pods anyway", stopping, toPage, isDone(pageSide), 0, "", nil, ""},
		{"being deleted", stopping, toPage, isDone(pageSide), 3, "", gone, ""},
		{"outage", stopping, outage, isDone(pageSide), 3, "", nil, ""},
		{"outage after a maintenance", stopping, outage, isDone(pageSide), 0, "3", nil, "3 3"},
		{"to be kept now", keeping, toPage, isDone(pageSide), 0, "3", nil, "3 3"},
		{"return", stopping, toApp, at(appSide, 0), 0, "3", nil, "3 3"},
		{"starting", stopping, toApp, at(appSide, 0), 3, "3", nil, ""},
		{"traffic has returned", stopping, toApp, at(appSide, time.Second), 3, "3", nil, "3 "},
		{"return is done", stopping, toApp, isDone(appSide), 5, "3", nil, "5 "},
		{"annotation changed by hand", stopping, toApp, at(appSide, 0), 0, "many", nil, "1 many"},
		{"annotation too small", stopping, toApp, at(appSide, 0), 0, "0", nil, "1 0"},
		{"annotation too large", stopping, toApp, at(appSide, 0), 0, "99999999999", nil, "1 99999999999"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := world(test.m, selecting(test.m, sideOf(test.last.To)))
			seen.deployment.Spec.Replicas = ptr.To(test.replicas)
			if test.annotation != "" {
				seen.deployment.Annotations = map[string]string{annotationReplicas: test.annotation}
			}
			if test.change != nil {
				test.change(seen.deployment)
			}
			change := scale(test.m, seen, test.d, []v1alpha1.Switch{test.last})
			if (change != nil) != (test.want != "") {
				t.Fatalf("changed: %v", change != nil)
			}
			if change == nil {
				return
			}
			change(seen.deployment)
			if got := fmt.Sprintf("%d %s", *seen.deployment.Spec.Replicas, seen.deployment.Annotations[annotationReplicas]); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if scale(stopping, &observed{}, toPage, nil) != nil {
		t.Error("there is nothing to stop")
	}
}

// After it was stopped an application has to be up as a whole before traffic returns.
func TestAppServes(t *testing.T) {
	m := sample(scaling)
	for _, test := range []struct {
		name string
		seen []func(*observed)
		want bool
	}{
		{"up", nil, true},
		{"down", []func(*observed){appDown}, false},
		{"stopped", []func(*observed){stopped}, false},
		{"not all up, never stopped", []func(*observed){func(seen *observed) { seen.deployment.Status.Conditions = nil }}, true},
		{"started, first pod up", []func(*observed){stopped, func(seen *observed) {
			seen.deployment.Spec.Replicas, seen.deployment.Status.ReadyReplicas = ptr.To[int32](3), 1
		}}, false},
		{"started, status from before", []func(*observed){stopped, func(seen *observed) {
			seen.deployment.Spec.Replicas, seen.deployment.Generation = ptr.To[int32](3), 2
			seen.deployment.Status = deploymentStatus(3)
		}}, false},
		{"started, up", []func(*observed){stopped, func(seen *observed) {
			seen.deployment.Spec.Replicas, seen.deployment.Status = ptr.To[int32](3), deploymentStatus(3)
		}}, true},
		// The status of a Deployment that is scaled to zero is behind its spec.
		{"zero, status from before", []func(*observed){func(seen *observed) { seen.deployment.Spec.Replicas = ptr.To[int32](0) }}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := appServes(m, world(m, test.seen...)); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
