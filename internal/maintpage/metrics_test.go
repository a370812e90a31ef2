// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// gauges are the metrics of a resource, without the common part of their names.
func gauges(t *testing.T, key types.NamespacedName) string {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, family := range families {
		name, ok := strings.CutPrefix(family.GetName(), "maintpage_operator_")
		for _, metric := range family.Metric {
			labels := map[string]string{}
			for _, pair := range metric.Label {
				labels[pair.GetName()] = pair.GetValue()
			}
			if ok && labels["namespace"] == key.Namespace && labels["name"] == key.Name {
				all = append(all, fmt.Sprintf("%s %v", name, metric.Gauge.GetValue()))
			}
		}
	}
	return strings.Join(all, ", ")
}

func TestMetrics(t *testing.T) {
	key := types.NamespacedName{Namespace: "metrics", Name: "example"}
	for _, test := range []struct {
		status v1alpha1.MaintPageStatus
		want   string
	}{
		{v1alpha1.MaintPageStatus{}, "published 0, switching 0"},
		{v1alpha1.MaintPageStatus{
			MaintPublishStatus: v1alpha1.StatusNotPublished, History: []v1alpha1.Switch{{To: v1alpha1.StatusPublished}},
		}, "published 0, switching 1"},
		{v1alpha1.MaintPageStatus{
			MaintPublishStatus: v1alpha1.StatusPublished, History: []v1alpha1.Switch{switched(pageSide, 0)},
		}, "published 1, switching 0"},
	} {
		count(key, &test.status)
		if got := gauges(t, key); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
	if uncount(key); gauges(t, key) != "" {
		t.Error("metrics of a resource that is gone")
	}
}
