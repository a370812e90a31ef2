// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// look is a reconcile without an API server: what the plan says about the Service is
// done, and the status is stored.
func look(m *v1alpha1.MaintPage, seen *observed) {
	d := demanded(m, seen)
	p := decide(m, seen, d, testImage)
	if p.service.Writes() {
		selecting(m, p.nextSide(m, seen, d))(seen)
	}
	m.Status = status(m, seen, d, p.history, nil)
}

// step is something that happens, and what is told after it.
type step struct {
	after time.Duration // the start
	do    func(*v1alpha1.MaintPage, *observed)
	want  string // reason of TrafficSwitched, maintpublishstatus, length of the history
}

func walk(t *testing.T, m *v1alpha1.MaintPage, seen *observed, steps ...step) {
	t.Helper()
	for i, s := range steps {
		seen.now = noon.Add(s.after)
		if s.do != nil {
			s.do(m, seen)
		}
		look(m, seen)
		switched := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionTrafficSwitched)
		got := fmt.Sprintf("%s, %s, %d", switched.Reason, m.Status.MaintPublishStatus, len(m.Status.History))
		if got != s.want {
			t.Fatalf("step %d, after %s: %s, want %s: %s", i, s.after, got, s.want, switched.Message)
		}
		if isDone := switched.Reason == reasonPublished || switched.Reason == reasonNotPublished; isDone != (switched.Status == metav1.ConditionTrue) {
			t.Fatalf("step %d: %+v", i, switched)
		}
		for range 2 { // an operator that starts anew, or is woken for nothing, tells the same
			before := fmt.Sprint(m.Status)
			if look(m, seen); fmt.Sprint(m.Status) != before {
				t.Fatalf("step %d: the same was seen and something else told:\n%s\n%s", i, before, fmt.Sprint(m.Status))
			}
		}
	}
}

// Things that happen.
func toggle(on bool) func(*v1alpha1.MaintPage, *observed) {
	return func(m *v1alpha1.MaintPage, _ *observed) { m.Spec.MaintPageConfig.MaintPageToggle = on }
}

func pageReady(ready bool) func(*v1alpha1.MaintPage, *observed) {
	return func(m *v1alpha1.MaintPage, seen *observed) {
		if ready {
			withPage(m)(seen)
		} else {
			withPage(m, notReady)(seen)
		}
	}
}

func appIsReady(ready int32) func(*v1alpha1.MaintPage, *observed) {
	return func(_ *v1alpha1.MaintPage, seen *observed) { seen.deployment.Status = deploymentStatus(ready) }
}

func endpointsAt(to side) func(*v1alpha1.MaintPage, *observed) {
	return func(m *v1alpha1.MaintPage, seen *observed) { leading(m, to)(seen) }
}

func all(changes ...func(*v1alpha1.MaintPage, *observed)) func(*v1alpha1.MaintPage, *observed) {
	return func(m *v1alpha1.MaintPage, seen *observed) {
		for _, change := range changes {
			change(m, seen)
		}
	}
}

func TestSwitchThereAndBack(t *testing.T) {
	m := sample()
	seen := world(m, withPage(m, notReady))
	const s = time.Second
	walk(t, m, seen,
		step{0, nil, "NotPublished, Not Published, 0"},
		step{10 * s, toggle(true), "PageNotReady, Not Published, 1"},
		step{20 * s, pageReady(true), "Moving, Not Published, 1"},
		step{21 * s, nil, "Moving, Not Published, 1"},
		step{22 * s, endpointsAt(pageSide), "Settling, Not Published, 1"},
		step{22*s + settle - 1, nil, "Settling, Not Published, 1"},
		step{22*s + settle, nil, "Draining, Published, 1"},
		step{52*s - 1, nil, "Draining, Published, 1"},
		step{52 * s, nil, "Published, Published, 1"},
		step{time.Hour, nil, "Published, Published, 1"},

		step{2 * time.Hour, all(toggle(false), appIsReady(0)), "AppNotReady, Published, 2"},
		step{2*time.Hour + 10*s, appIsReady(1), "Moving, Published, 2"},
		step{2*time.Hour + 11*s, endpointsAt(appSide), "Settling, Published, 2"},
		step{2*time.Hour + 14*s, nil, "Draining, Not Published, 2"},
		step{2*time.Hour + 41*s, nil, "NotPublished, Not Published, 2"},
	)
	for i, want := range []v1alpha1.Switch{
		{
			To: v1alpha1.StatusNotPublished, StartTime: metav1.NewTime(noon.Add(2 * time.Hour)),
			TrafficMovedTime: metav1.NewTime(noon.Add(2*time.Hour + 11*s)), CompletionTime: metav1.NewTime(noon.Add(2*time.Hour + 41*s)),
		},
		{
			To: v1alpha1.StatusPublished, StartTime: metav1.NewTime(noon.Add(10 * s)),
			TrafficMovedTime: metav1.NewTime(noon.Add(22 * s)), CompletionTime: metav1.NewTime(noon.Add(52 * s)),
		},
	} {
		want.Cause = v1alpha1.CauseToggle
		want.Message = m.Status.History[i].Message
		if got := m.Status.History[i]; got != want || got.Message == "" {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestSwitchDetours(t *testing.T) {
	const s = time.Second
	begin := step{0, nil, "NotPublished, Not Published, 0"}
	tests := []struct {
		name  string
		m     *v1alpha1.MaintPage
		steps []step
	}{
		{"toggled back before the Service was touched", sample(), []step{
			{0, pageReady(false), "NotPublished, Not Published, 0"},
			{1 * s, toggle(true), "PageNotReady, Not Published, 1"},
			{2 * s, toggle(false), "NotPublished, Not Published, 0"},
		}},
		{"toggled back after the Service was touched", sample(), []step{
			begin,
			{1 * s, toggle(true), "Moving, Not Published, 1"},
			{2 * s, toggle(false), "Settling, Not Published, 2"},
			// What was seen was from before the first of the two.
			{3 * s, endpointsAt(pageSide), "Moving, Not Published, 2"},
			{4 * s, endpointsAt(appSide), "Settling, Not Published, 2"},
			{7 * s, nil, "Draining, Not Published, 2"},
		}},
		{"toggled back after traffic was seen to move", sample(), []step{
			begin,
			{1 * s, all(toggle(true), endpointsAt(pageSide)), "Settling, Not Published, 1"},
			{2 * s, toggle(false), "Moving, Not Published, 2"},
			{3 * s, endpointsAt(appSide), "Settling, Not Published, 2"},
		}},
		{"toggled back while draining", sample(), []step{
			begin,
			{1 * s, all(toggle(true), endpointsAt(pageSide)), "Settling, Not Published, 1"},
			{5 * s, nil, "Draining, Published, 1"},
			{6 * s, all(toggle(false), appIsReady(0)), "AppNotReady, Published, 2"},
			// It was never touched: the page had the traffic all the time.
			{7 * s, toggle(true), "Draining, Published, 1"},
		}},
		{"endpoints from before the switch", sample(), []step{
			begin,
			{1 * s, all(toggle(true), endpointsAt(pageSide)), "Settling, Not Published, 1"},
			{2 * s, endpointsAt(appSide), "Moving, Not Published, 1"},
			{10 * s, nil, "Moving, Not Published, 1"},
			{11 * s, endpointsAt(pageSide), "Settling, Not Published, 1"},
			{14 * s, nil, "Draining, Published, 1"},
		}},
		{"both sides behind the Service", sample(), []step{
			begin,
			{1 * s, toggle(true), "Moving, Not Published, 1"},
			{2 * s, func(m *v1alpha1.MaintPage, seen *observed) {
				seen.endpoints = map[string]bool{"httpd-1": true, podName(m): true}
			}, "Moving, Not Published, 1"},
			{3 * s, func(_ *v1alpha1.MaintPage, seen *observed) { seen.endpoints = nil }, "Moving, Not Published, 1"},
			{4 * s, endpointsAt(pageSide), "Settling, Not Published, 1"},
		}},
		{"nothing to drain", sample(func(m *v1alpha1.MaintPage) { m.Spec.DrainSeconds = ptr.To[int32](0) }), []step{
			begin,
			{1 * s, all(toggle(true), endpointsAt(pageSide)), "Settling, Not Published, 1"},
			{4 * s, nil, "Published, Published, 1"},
		}},
		{"new, and the application is not there yet", sample(), []step{
			{0, all(appIsReady(0), func(_ *v1alpha1.MaintPage, seen *observed) { seen.endpoints = nil }), "AppNotReady, Not Published, 0"},
			{1 * s, all(appIsReady(1), endpointsAt(appSide)), "NotPublished, Not Published, 0"},
			// Later losses are for AppAvailable to tell.
			{2 * s, all(appIsReady(0), func(_ *v1alpha1.MaintPage, seen *observed) { seen.endpoints = nil }), "NotPublished, Not Published, 0"},
		}},
		{"page lost while published", sample(), []step{
			begin,
			{1 * s, all(toggle(true), endpointsAt(pageSide)), "Settling, Not Published, 1"},
			{time.Hour, nil, "Published, Published, 1"},
			{2 * time.Hour, all(pageReady(false), func(_ *v1alpha1.MaintPage, seen *observed) { seen.endpoints = nil }), "Published, Published, 1"},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { walk(t, test.m, world(test.m), test.steps...) })
	}
}

func TestHistoryLimit(t *testing.T) {
	m := sample()
	seen := world(m)
	for i := range 3 * v1alpha1.HistoryLimit {
		to := side(i%2 == 0)
		seen.now = noon.Add(time.Duration(i) * time.Hour)
		all(toggle(bool(to)), endpointsAt(to))(m, seen)
		look(m, seen)
		seen.now = seen.now.Add(time.Minute)
		look(m, seen)
		if len(m.Status.History) > v1alpha1.HistoryLimit || m.Status.History[0].To != to.publishStatus() ||
			m.Status.History[0].CompletionTime.IsZero() {
			t.Fatalf("%d: %+v", i, m.Status.History)
		}
	}
	if len(m.Status.History) != v1alpha1.HistoryLimit {
		t.Errorf("%d entries", len(m.Status.History))
	}
}

// The operator wakes itself when a stage ends, and at no other time.
func TestStageEnds(t *testing.T) {
	m := sample(toggled)
	seen := world(m, atPage(m))
	moved := func(after time.Duration) []v1alpha1.Switch {
		return []v1alpha1.Switch{{To: v1alpha1.StatusPublished, TrafficMovedTime: metav1.NewTime(noon.Add(-after))}}
	}
	for _, test := range []struct {
		name    string
		history []v1alpha1.Switch
		stage   stage
		ends    time.Duration // from noon
	}{
		{"none", nil, done, 0},
		{"moving", []v1alpha1.Switch{{To: v1alpha1.StatusPublished}}, moving, 0},
		{"waiting", []v1alpha1.Switch{{To: v1alpha1.StatusNotPublished}}, waiting, 0},
		{"settling", moved(time.Second), settling, 2 * time.Second},
		{"draining", moved(10 * time.Second), draining, 20 * time.Second},
		{"drained", moved(30 * time.Second), done, 0},
		{"done", []v1alpha1.Switch{switched(pageSide, -time.Hour)}, done, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := stageOf(m, test.history, seen); got != test.stage {
				t.Errorf("stage %d, want %d", got, test.stage)
			}
			if got := nextLook(m, seen, demand{}, test.history); got != test.ends {
				t.Errorf("looks again in %s, want %s", got, test.ends)
			}
		})
	}
}

// Traffic goes only where somebody answers.
func TestNextSide(t *testing.T) {
	const ready, notReady = true, false
	toApp, toPage := map[string]string{"app": "httpd"}, map[string]string{"app": "example"}
	tests := []struct {
		name      string
		toggle    bool
		page, app bool
		selector  map[string]string
		before    v1alpha1.MaintPublishStatus
		want      side
	}{
		{"settled at the app", false, ready, ready, toApp, v1alpha1.StatusNotPublished, appSide},
		{"settled at the page", true, ready, ready, toPage, v1alpha1.StatusPublished, pageSide},
		{"publish", true, ready, ready, toApp, v1alpha1.StatusNotPublished, pageSide},
		{"publish, page not ready", true, notReady, ready, toApp, v1alpha1.StatusNotPublished, appSide},
		{"publish, nothing ready", true, notReady, notReady, toApp, v1alpha1.StatusNotPublished, appSide},
		{"return", false, ready, ready, toPage, v1alpha1.StatusPublished, appSide},
		{"return, app not ready", false, ready, notReady, toPage, v1alpha1.StatusPublished, pageSide},
		{"page lost while published", true, notReady, ready, toPage, v1alpha1.StatusPublished, pageSide},
		{"app lost while not published", false, ready, notReady, toApp, v1alpha1.StatusNotPublished, appSide},
		{"selector changed by hand", false, ready, ready, map[string]string{"app": "x"}, v1alpha1.StatusNotPublished, appSide},
		{"key added by hand", true, ready, ready, map[string]string{"app": "example", "more": "x"}, v1alpha1.StatusPublished, pageSide},
		{"selector changed by hand, page lost", true, notReady, ready, map[string]string{"app": "x"}, v1alpha1.StatusPublished, pageSide},
		{"selector removed by hand, app lost", false, ready, notReady, nil, v1alpha1.StatusNotPublished, appSide},
		{"new", false, notReady, notReady, nil, "", appSide},
		{"new and published", true, notReady, notReady, nil, "", appSide},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := sample()
			toggle(test.toggle)(m, nil)
			m.Status.MaintPublishStatus = test.before
			seen := world(m)
			pageReady(test.page)(m, seen)
			if !test.app {
				appDown(seen)
			}
			seen.service.Spec.Selector = test.selector
			p := plan{}
			if got := p.nextSide(m, seen, demanded(m, seen)); got != test.want {
				t.Errorf("page: %v, want %v", got, test.want)
			}
		})
	}
}
