// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
)

// Kinds of connections.
const (
	connectionNew  = "new"
	connectionKept = "kept"
)

const (
	// maxSpelledOut is how many failures, and how many wrong pages, are told one by one.
	maxSpelledOut = 20
	// maxKinds is more than any test has pages.
	maxKinds = 50

	timeFormat = "15:04:05.000"
)

// report is what was counted since the last reset.
type report struct {
	Seconds  float64 `json:"seconds"`
	Requests int     `json:"requests"`
	// Pages are what was got on each kind of connection: the status and the first line.
	Pages map[string]map[string]page `json:"pages"`
	// Failed is how many requests were not answered, Failures how many of them why.
	Failed        int            `json:"failed"`
	Failures      map[string]int `json:"failures"`
	FirstFailures []string       `json:"firstFailures"`
	// Wrong is how many requests on new connections were answered with another page than expected.
	Wrong      int      `json:"wrong"`
	FirstWrong []string `json:"firstWrong"`
	// Slowest is how long the slowest answer took, in seconds.
	Slowest float64 `json:"slowest"`
	// Connections is how often a connection to keep was made.
	Connections int `json:"connections"`
	// Unanswered is how many requests are under way.
	Unanswered int `json:"unanswered"`
	// MostUnanswered is how many were at most at the same time.
	MostUnanswered int `json:"mostUnanswered"`
}

// page is how often a page was got, and when.
type page struct {
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// counts is safe for use by several goroutines.
type counts struct {
	lock sync.Mutex
	// since is when it was last reset. What began before first, the first time, is not
	// counted: it may have found a Service that was not ready yet.
	since, first time.Time
	report       report
	unanswered   int

	// expected is a part of what every request on a new connection must get that begins
	// from now on. expectation tells one setting of it from the next.
	expected    string
	expectation int
}

func newCounts() *counts {
	return &counts{since: time.Now(), report: emptyReport()}
}

func emptyReport() report {
	return report{
		Pages:    map[string]map[string]page{connectionNew: {}, connectionKept: {}},
		Failures: map[string]int{},
	}
}

// A request that is under way.
type request struct {
	connection  string
	began       time.Time
	expectation int
}

func (c *counts) begin(connection string) request {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.unanswered++
	c.report.MostUnanswered = max(c.report.MostUnanswered, c.unanswered)
	return request{connection, time.Now(), c.expectation}
}

func (c *counts) end(r request, kind string, err error) {
	now := time.Now()
	c.lock.Lock()
	defer c.lock.Unlock()
	c.unanswered--
	if r.began.Before(c.first) {
		return
	}
	c.report.Requests++
	c.report.Slowest = max(c.report.Slowest, now.Sub(r.began).Seconds())
	tell := func(list []string, what string) []string {
		if len(list) == maxSpelledOut {
			return list
		}
		return append(list, fmt.Sprintf("%s to %s, %s connection: %s", r.began.Format(timeFormat), now.Format(timeFormat), r.connection, what))
	}
	if err != nil {
		c.report.Failed++
		c.report.Failures[class(err)]++
		c.report.FirstFailures = tell(c.report.FirstFailures, class(err)+": "+err.Error())
		return
	}
	pages := c.report.Pages[r.connection]
	if _, known := pages[kind]; !known && len(pages) >= maxKinds {
		kind = "something else"
	}
	p := pages[kind]
	p.Count++
	p.Last = now
	if p.First.IsZero() {
		p.First = now
	}
	pages[kind] = p
	// What was expected when it began must still be when it ends: a request that was
	// under way when the expectation changed may have been answered before or after.
	if r.connection == connectionNew && r.expectation == c.expectation && !strings.Contains(kind, c.expected) {
		c.report.Wrong++
		c.report.FirstWrong = tell(c.report.FirstWrong, fmt.Sprintf("%q, want %q", kind, c.expected))
	}
}

// connected counts a connection that is to be kept.
func (c *counts) connected() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.report.Connections++
}

func (c *counts) expect(text string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.expected = text
	c.expectation++
}

// reset counts from zero, and returns what was counted up to then: no request is lost
// between the two.
func (c *counts) reset() report {
	c.lock.Lock()
	defer c.lock.Unlock()
	before := c.locked()
	c.since = time.Now()
	if c.first.IsZero() {
		c.first = c.since
	}
	c.report = emptyReport()
	c.report.MostUnanswered = c.unanswered
	return before
}

func (c *counts) read() report {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.locked()
}

// locked is a copy of what was counted, for a caller that holds the lock.
func (c *counts) locked() report {
	r := c.report
	r.Seconds = time.Since(c.since).Seconds()
	r.Unanswered = c.unanswered
	r.Failures = maps.Clone(r.Failures)
	r.Pages = map[string]map[string]page{}
	for connection, pages := range c.report.Pages {
		r.Pages[connection] = maps.Clone(pages)
	}
	return r
}
