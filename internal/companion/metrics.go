// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package companion

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/example/web-operators/internal/companion/nodelist"
	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/node"
)

const (
	// nodeTimeout is for all statistics of one node, far within the ten seconds that
	// Prometheus gives a scrape.
	nodeTimeout = 3 * time.Second
	// maxScrapes is how many clients may read the metrics at a time. Each makes a
	// connection to every node.
	maxScrapes = 3
)

// metricsHandler serves the metrics of all nodes under /metrics. What it takes to ask
// them is read each time: it may have changed.
func metricsHandler(nodes *nodelist.Reader, secrets credentials.Directories) http.Handler {
	scrapes := make(chan struct{}, maxScrapes)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, request *http.Request) {
		select {
		case scrapes <- struct{}{}:
			defer func() { <-scrapes }()
		default:
			http.Error(w, "others are reading the metrics, try again", http.StatusServiceUnavailable)
			return
		}
		access, err := secrets.Read()
		if err != nil {
			http.Error(w, "a Secret cannot be used: "+err.Error(), http.StatusInternalServerError)
			return
		}
		ctx, cancel := context.WithTimeout(request.Context(), timeoutFor(request))
		defer cancel()
		registry := prometheus.NewRegistry()
		registry.MustRegister(collector{ctx: ctx, nodes: nodes.Newest().Nodes, access: access})
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, request)
	})
	return mux
}

// timeoutFor leaves a scrape with a short interval the time to tell of the nodes that
// did answer.
func timeoutFor(request *http.Request) time.Duration {
	seconds, err := strconv.ParseFloat(request.Header.Get("X-Prometheus-Scrape-Timeout-Seconds"), 64)
	if err != nil || seconds <= 0 {
		return nodeTimeout
	}
	return min(nodeTimeout, time.Duration(seconds*float64(time.Second))*3/4)
}

// collector asks the nodes once, for one scrape.
type collector struct {
	ctx    context.Context
	nodes  []nodelist.Node
	access credentials.Access
}

// Describe tells every metric beforehand, so that a duplicate is found by the first test.
func (c collector) Describe(descriptions chan<- *prometheus.Desc) {
	told := map[string]bool{}
	for _, r := range slices.Concat(table, calculated) {
		if !told[r.name] { // several rows may be one metric with other labels
			told[r.name] = true
			descriptions <- r.desc
		}
	}
}

// Collect asks all nodes at once: one that does not answer delays nobody.
func (c collector) Collect(metrics chan<- prometheus.Metric) {
	var all sync.WaitGroup
	for _, n := range c.nodes {
		all.Go(func() {
			found, err := statsOf(c.ctx, c.access.Client(net.JoinHostPort(n.IP, strconv.Itoa(int(n.Port)))))
			if err != nil {
				slog.Warn("A node does not answer", "node", n.Name, "error", err)
			}
			for _, metric := range measure(n.Name, found, err == nil) {
				metrics <- metric
			}
		})
	}
	all.Wait()
}

// statsOf reads every section that the table has metrics of.
func statsOf(ctx context.Context, client *node.Client) (statistics, error) {
	conn, err := client.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	found := statistics{}
	for _, section := range []string{general, settings, items, slabs} {
		if found[section], err = conn.Stats(ctx, section); err != nil {
			return nil, err
		}
	}
	return found, nil
}
