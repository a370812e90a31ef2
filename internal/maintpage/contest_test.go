// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

func TestTruceGrows(t *testing.T) {
	c := &contests{}
	key := types.NamespacedName{Name: "a"}
	now := noon
	for range contestLimit {
		if got := c.truce(key, now); !got.IsZero() {
			t.Fatalf("a truce until %s", got)
		}
		now = now.Add(time.Second)
	}
	for _, seconds := range []int{15, 30, 60, 120, 240, 300, 300, 300} {
		want := time.Duration(seconds) * time.Second
		if got := c.truce(key, now).Sub(now); got != want {
			t.Fatalf("keeps still for %s, want %s", got, want)
		}
		if got := c.truce(key, now.Add(want/2)).Sub(now); got != want {
			t.Fatalf("looking at it makes it %s instead of %s", got, want)
		}
		now = now.Add(want + time.Second) // nobody is woken to the moment
		if got := c.truce(key, now); now.Before(got) {
			t.Fatalf("after %s there is another truce instead of an attempt", want)
		}
	}
	if got := c.truce(types.NamespacedName{Name: "b"}, now); !got.IsZero() {
		t.Error("the truce of another resource")
	}
}

func TestTruceIsForgotten(t *testing.T) {
	key := types.NamespacedName{Name: "a"}
	provoke := func() *contests {
		c := &contests{}
		for range contestLimit + 1 {
			c.truce(key, noon)
		}
		return c
	}
	if got := provoke().truce(key, noon.Add(contestMemory+1)); !got.IsZero() {
		t.Errorf("held against them until %s", got)
	}
	c := provoke()
	c.forget(key)
	if got := c.truce(key, noon); !got.IsZero() {
		t.Errorf("the truce of a resource that is gone, until %s", got)
	}
	// A person who changes it now and then is put right each time.
	c = &contests{}
	for i := range 20 {
		if got := c.truce(key, noon.Add(time.Duration(i)*(contestMemory+time.Second))); !got.IsZero() {
			t.Fatalf("a truce at the attempt %d", i)
		}
	}
}

func TestContested(t *testing.T) {
	toPage := demand{side: pageSide}
	other := func(seen *observed) { seen.service.Spec.Selector = map[string]string{"app": "x"} }
	was := func(s ...v1alpha1.Switch) *v1alpha1.MaintPage {
		m := sample()
		m.Status.MaintPublishStatus, m.Status.History = v1alpha1.StatusNotPublished, s
		return m
	}
	started := v1alpha1.Switch{To: v1alpha1.StatusPublished}
	tests := []struct {
		name string
		m    *v1alpha1.MaintPage
		d    demand
		seen func(*observed)
		want bool
	}{
		{"new", sample(), demand{}, other, false},
		{"no Service", was(), demand{}, func(seen *observed) { seen.service = nil }, false},
		{"as it should be", was(), demand{}, func(*observed) {}, false},
		{"to nowhere", was(), demand{}, other, true},
		{"to the other side", was(), demand{}, selecting(sample(), pageSide), true},
		{"after a switch", was(switched(pageSide, -time.Hour)), toPage, selecting(sample(), appSide), true},
		{"a switch that begins", was(), toPage, func(*observed) {}, false},
		{"a switch that waits", was(started), toPage, func(*observed) {}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := contested(test.m, world(test.m, test.seen), test.d); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// During a truce the Service is left alone, and everything else goes on.
func TestTruceLeavesTheServiceAlone(t *testing.T) {
	for name, m := range map[string]*v1alpha1.MaintPage{"own": sample(toggled), "adopted": sample(adopting, toggled)} {
		t.Run(name, func(t *testing.T) {
			seen := world(m)
			writes := func() bool {
				p := decide(m, seen, demanded(m, seen), testImage)
				if !p.pod.Writes() {
					t.Error("the page must be kept")
				}
				return p.service.Writes() || p.lead != nil
			}
			if !writes() {
				t.Error("no switch")
			}
			seen.truce = noon.Add(time.Second)
			if writes() {
				t.Error("the truce is broken")
			}
			if got := nextLook(m, seen, demand{}, nil); got != time.Second {
				t.Errorf("looks again in %s", got)
			}
			seen.truce = noon
			if !writes() {
				t.Error("the truce is over")
			}
		})
	}
}
