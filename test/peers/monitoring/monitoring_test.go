// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

const root = "../../../"

// exposed are the names of the metrics that the companion serves for what a real
// memcached once answered.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for line := range strings.Lines(read(t, "internal/companion/testdata/metrics.txt")) {
		if !strings.HasPrefix(line, "#") {
			name, _, _ := strings.Cut(line, "{")
			names[name] = true
		}
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// check parses an expression, and looks that every metric of it is served.
func check(t *testing.T, names map[string]bool, where, expression string) {
	t.Helper()
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v in %s", where, err, expression)
		return
	}
	metrics := 0
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			metrics++
			if !names[selector.Name] {
				t.Errorf("%s: nobody serves %s", where, selector)
			}
		}
		return nil
	})
	if metrics == 0 {
		t.Errorf("%s has no metric: %s", where, expression)
	}
}

func TestRules(t *testing.T) {
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr string
					Labels      map[string]string
					Annotations map[string]string
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "config/monitoring/prometheusrule.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	names, alerts := exposed(t), 0
	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			alerts++
			check(t, names, rule.Alert, rule.Expr)
			if rule.Alert == "" || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("incomplete: %+v", rule)
			}
		}
	}
	if alerts == 0 {
		t.Error("no alerts")
	}
}

// Variables of Grafana stand for what Prometheus gets to see.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$namespace", "n", "$job", "j", "$node", ".*")

var labelValues = regexp.MustCompile(`^label_values\((.*), (namespace|job|node)\)$`)

func TestDashboard(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct {
				Name, Type string
				Query      json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(read(t, "config/monitoring/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	names := exposed(t)
	for _, panel := range dashboard.Panels {
		if len(panel.Targets) == 0 {
			t.Errorf("%s shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			check(t, names, panel.Title, variables.Replace(target.Expr))
		}
	}
	for _, variable := range dashboard.Templating.List {
		if variable.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(variable.Query, &query); err != nil {
			t.Fatal(err)
		}
		found := labelValues.FindStringSubmatch(query.Query)
		if found == nil {
			t.Errorf("%s asks %s", variable.Name, query.Query)
			continue
		}
		check(t, names, variable.Name, variables.Replace(found[1]))
	}
	if len(dashboard.Panels) == 0 || len(dashboard.Templating.List) == 0 {
		t.Error("an empty dashboard")
	}
}
