// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package companion

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// statistics are a node's, by section and name.
type statistics map[string]map[string]string

// What no statistic is by itself.
var (
	calculated = described([]row{
		{name: "up", kind: gauge, help: "Whether the node answers."},
		{name: "version", kind: gauge, help: "The version of memcached that the node runs.", labels: []string{"version", ""}},
		{name: "commands_total", kind: counter, help: commandsHelp, labels: []string{"command", "set", "status", "hit"}},
		{section: slabs, name: "slab_commands_total", kind: counter, help: commandsHelp, labels: []string{"command", "set", "status", "hit"}},
	})
	upRow, versionRow, setRow, slabSetRow = &calculated[0], &calculated[1], &calculated[2], &calculated[3]
)

// measure turns the statistics of a node into metrics. A statistic that this version of
// memcached does not have, or that is no number, is left out.
func measure(node string, found statistics, up bool) []prometheus.Metric {
	if !up {
		return []prometheus.Metric{upRow.metric(node, "", 0)}
	}
	all := []prometheus.Metric{upRow.metric(node, "", 1)}
	if version := found[general]["version"]; version != "" {
		r := *versionRow
		r.labels = []string{"version", version}
		all = append(all, r.metric(node, "", 1))
	}
	classes := map[string]map[string]map[string]string{
		items: byClass(found[items], "items:"),
		slabs: byClass(found[slabs], ""),
	}
	for i := range table {
		r := &table[i]
		switch r.section {
		case items, slabs:
			for class, stats := range classes[r.section] {
				all = r.append(all, node, class, stats)
			}
		case slabTotals:
			all = r.append(all, node, "", found[slabs])
		default:
			all = r.append(all, node, "", found[r.section])
		}
	}
	// memcached counts a cas among the sets, too.
	if sets, ok := difference(found[general], "cmd_set", "cas_misses", "cas_hits", "cas_badval"); ok {
		all = append(all, setRow.metric(node, "", sets))
	}
	for class, stats := range classes[slabs] {
		if sets, ok := difference(stats, "cmd_set", "cas_hits", "cas_badval"); ok {
			all = append(all, slabSetRow.metric(node, class, sets))
		}
	}
	return all
}

// byClass takes names such as items:3:number apart. Totals belong to no class.
func byClass(stats map[string]string, prefix string) map[string]map[string]string {
	classes := map[string]map[string]string{}
	for name, value := range stats {
		class, statistic, ok := strings.Cut(strings.TrimPrefix(name, prefix), ":")
		if _, err := strconv.ParseUint(class, 10, 8); !ok || err != nil {
			continue
		}
		if classes[class] == nil {
			classes[class] = map[string]string{}
		}
		classes[class][statistic] = value
	}
	return classes
}

func (r *row) append(all []prometheus.Metric, node, class string, stats map[string]string) []prometheus.Metric {
	text, ok := stats[r.statistic]
	if !ok {
		return all
	}
	value, err := r.value(text)
	if err != nil {
		return all
	}
	return append(all, r.metric(node, class, value))
}

func (r *row) perSlab() bool { return r.section == items || r.section == slabs }

// described fills in the descriptions, which take longer to make than metrics do.
func described(rows []row) []row {
	for i := range rows {
		r := &rows[i]
		names := []string{"node"}
		if r.perSlab() {
			names = append(names, "slab")
		}
		for l := 0; l < len(r.labels); l += 2 {
			names = append(names, r.labels[l])
		}
		r.desc = prometheus.NewDesc("memcached_"+r.name, r.help, names, nil)
	}
	return rows
}

func (r *row) metric(node, class string, value float64) prometheus.Metric {
	values := []string{node}
	if r.perSlab() {
		values = append(values, class)
	}
	for i := 1; i < len(r.labels); i += 2 {
		values = append(values, strings.ToValidUTF8(r.labels[i], "?"))
	}
	return prometheus.MustNewConstMetric(r.desc, r.kind, value, values...)
}

// difference is the first statistic less all others.
func difference(stats map[string]string, names ...string) (float64, bool) {
	result := 0.0
	for i, name := range names {
		value, err := number(stats[name])
		if err != nil {
			return 0, false
		}
		if i == 0 {
			result = value
		} else {
			result -= value
		}
	}
	return result, true
}

func number(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

func yesNo(text string) (float64, error) {
	switch text {
	case "yes":
		return 1, nil
	case "no":
		return 0, nil
	default:
		return 0, fmt.Errorf("%q is neither yes nor no", text)
	}
}
