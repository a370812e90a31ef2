// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// open has a window that is open at noon.
func open(m *v1alpha1.MaintPage) {
	m.Spec.Schedule = &v1alpha1.Schedule{Windows: []v1alpha1.Window{cronWindow("nightly", "0 12 * * *", "UTC", time.Hour)}}
}

// app is an application that has been available, or not, for some time.
func app(available metav1.ConditionStatus, since time.Duration) func(*v1alpha1.MaintPage) {
	return func(m *v1alpha1.MaintPage) {
		m.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionAppAvailable, Status: available, LastTransitionTime: metav1.NewTime(noon.Add(-since)),
		}}
	}
}

// setWith is a resource whose toggle somebody has set.
func setWith(manager string) func(*v1alpha1.MaintPage) {
	return func(m *v1alpha1.MaintPage) {
		m.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:maintpageconfig":{"f:maintpagetoggle":{}}}}`),
		}}
	}
}

func TestDemand(t *testing.T) {
	down := app(metav1.ConditionFalse, time.Hour)
	tests := []struct {
		name    string
		m       *v1alpha1.MaintPage
		appDown bool

		side    side
		cause   v1alpha1.SwitchCause
		message string
	}{
		{"nothing", sample(), false, appSide, "Toggle", "maintpagetoggle is false"},
		{"toggle", sample(toggled), false, pageSide, "Toggle", "maintpagetoggle is true"},
		{"toggle by kubectl", sample(toggled, setWith("kubectl-patch")), false, pageSide, "Toggle", "maintpagetoggle is true, set by kubectl-patch"},
		{"toggle back", sample(publishedFor("Toggle"), setWith("argocd")), false, appSide, "Toggle", "maintpagetoggle is false, set by argocd"},
		{"schedule", sample(open), false, pageSide, "Schedule", "window nightly is open until 2026-06-01T13:00:00Z"},
		{"schedule over", sample(publishedFor("Schedule")), false, appSide, "Schedule", "the window is over"},
		{"outage", sample(covering, down), true, pageSide, "Outage", "the application has no ready pod"},
		{"outage over", sample(covering, publishedFor("Outage"), app(metav1.ConditionTrue, time.Hour)), false, appSide, "Outage", "the application is ready again"},
		{"toggle before schedule", sample(toggled, open), false, pageSide, "Toggle", "maintpagetoggle is true"},
		{"toggle before outage", sample(toggled, covering, down), true, pageSide, "Toggle", "maintpagetoggle is true"},
		{"schedule before outage", sample(open, covering, down), true, pageSide, "Schedule", "window nightly is open until 2026-06-01T13:00:00Z"},
		{"all", sample(toggled, open, covering, down), true, pageSide, "Toggle", "maintpagetoggle is true"},
		{"given back", sample(adopting, toggled, open, publishedFor("Schedule"), func(m *v1alpha1.MaintPage) { m.Spec.Adopt = false }), false, appSide, "Schedule", "the application is given back"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := world(test.m)
			if test.appDown {
				appDown(seen)
			}
			d := demanded(test.m, seen)
			if d.side != test.side || d.cause != test.cause || d.message != test.message {
				t.Errorf("%v %s %q", d.side, d.cause, d.message)
			}
		})
	}
}

// The page comes 30 s after the application is lost, and goes 60 s after it is back.
func TestOutage(t *testing.T) {
	const isDown, isUp = true, false
	began := func(m *v1alpha1.MaintPage) { // being published, and not seen to be yet
		m.Status.History = []v1alpha1.Switch{{To: v1alpha1.StatusPublished, Cause: v1alpha1.CauseOutage, StartTime: metav1.NewTime(noon)}}
	}
	outage := publishedFor(v1alpha1.CauseOutage)
	tests := []struct {
		name  string
		m     *v1alpha1.MaintPage
		down  bool
		want  bool
		until time.Duration // from noon, or 0
	}{
		{"in order", sample(covering, app("True", time.Hour)), isUp, false, 0},
		{"lost just now", sample(covering, app("True", time.Hour)), isDown, false, 30 * time.Second},
		{"new and not up yet", sample(covering), isDown, false, 30 * time.Second},
		{"lost", sample(covering, app("False", 10*time.Second)), isDown, false, 20 * time.Second},
		{"lost, a moment before", sample(covering, app("False", 29*time.Second)), isDown, false, time.Second},
		{"lost for long", sample(covering, app("False", 30*time.Second)), isDown, true, 0},
		{"lost for hours, operator was away", sample(covering, app("False", 5*time.Hour)), isDown, true, 0},
		{"being covered", sample(covering, began, app("False", time.Second)), isDown, true, 0},
		{"covered", sample(covering, outage, app("False", time.Hour)), isDown, true, 0},
		{"back just now", sample(covering, outage, app("False", time.Hour)), isUp, true, time.Minute},
		{"back", sample(covering, outage, app("True", 59*time.Second)), isUp, true, time.Second},
		{"back for long", sample(covering, outage, app("True", time.Minute)), isUp, false, 0},
		{"lost again", sample(covering, outage, app("True", 59*time.Second)), isDown, true, 0},
		{"not asked for", sample(app("False", time.Hour)), isDown, false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := world(test.m)
			if test.down {
				appDown(seen)
			}
			var until time.Time
			if test.until > 0 {
				until = noon.Add(test.until)
			}
			got, changes := outageAt(test.m, seen)
			if got != test.want || !changes.Equal(until) {
				t.Errorf("%v until %v, want %v until %v", got, changes, test.want, until)
			}
			if d := demanded(test.m, seen); side(test.want) != d.side || !d.until.Equal(until) {
				t.Errorf("demand %+v", d)
			}
		})
	}
	m := sample(covering, app("False", time.Hour))
	if got, _ := outageAt(m, world(m, stopped)); got {
		t.Error("an application that the operator has stopped is not out of order")
	}
}

// What changes first wakes the operator.
func TestDemandEnds(t *testing.T) {
	m := sample(covering, open, app("False", 10*time.Second))
	m.Spec.Schedule.Windows[0].Cron.Expression = "0 13 * * *"
	if d := demanded(m, world(m, appDown)); !d.until.Equal(noon.Add(20 * time.Second)) {
		t.Errorf("until %v: the outage is to be covered before the window opens", d.until)
	}
	m.Spec.PublishOnOutage.AfterSeconds = 3600 + 60
	if d := demanded(m, world(m, appDown)); !d.until.Equal(noon.Add(time.Hour)) {
		t.Errorf("until %v: the window opens before the outage is covered", d.until)
	}
}
