// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"
)

const (
	// keptConnections is how many connections are kept open.
	keptConnections = 5
	// maxNew bounds the connections that are open at a time where answers are slow.
	maxNew = 1000
	// burst is how many requests are made without a pause by who is late. Pauses of
	// single requests are too short to be kept to on a busy machine.
	burst = 10
)

// load makes the requests until the context ends, and returns when all are answered.
func load(ctx context.Context, t *target, c *counts, rate int) {
	var all sync.WaitGroup
	newRate := rate / 2
	all.Go(func() {
		slots := make(chan struct{}, maxNew)
		pace(ctx, time.Second/time.Duration(newRate), func() {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				visit(t, c)
			})
		})
	})
	keptInterval := keptConnections * time.Second / time.Duration(rate-newRate)
	for i := range keptConnections {
		all.Go(func() {
			// Not all at the same moment.
			time.Sleep(keptInterval * time.Duration(i) / keptConnections)
			visitor := &keptVisitor{target: t, counts: c}
			defer visitor.leave()
			pace(ctx, keptInterval, visitor.visit)
		})
	}
	all.Wait()
}

// pace calls do at an interval. Where it was held up it catches up at twice the rate, so
// that the rate is what was asked for on a busy machine too; all at once would be an
// attack, not a visit.
func pace(ctx context.Context, interval time.Duration, do func()) {
	late := 0
	for next := time.Now(); ctx.Err() == nil; next = next.Add(interval) {
		if wait := time.Until(next); wait > 0 {
			time.Sleep(wait)
			late = 0
		} else if late++; late%burst == 0 {
			time.Sleep(burst * interval / 2)
		}
		do()
	}
}

// visit makes one request on a connection of its own.
func visit(t *target, c *counts) {
	r := c.begin(connectionNew)
	conn, err := t.dial()
	if err != nil {
		c.end(r, "", err)
		return
	}
	defer conn.Close()
	kind, _, err := conn.ask(t, true)
	c.end(r, kind, err)
}

// A keptVisitor makes requests on one connection as long as the server keeps it open.
type keptVisitor struct {
	target *target
	counts *counts
	conn   *connection
}

// visit makes one request, and never repeats it. A server may close a connection while
// nothing is asked on it: that is seen before the next request, which then begins on
// a new connection and has not failed. One that closes it after a request was sent and
// before it is answered has failed that request. Browsers and Go's client hide this:
// they ask again where asking twice does no harm. Here it counts, because a server that
// says `Connection: close` in its last answer, as it should, does not do this to anybody.
func (v *keptVisitor) visit() {
	if v.conn != nil && v.conn.closedByServer() {
		v.leave()
	}
	r := v.counts.begin(connectionKept)
	if v.conn == nil {
		conn, err := v.target.dial()
		if err != nil {
			v.counts.end(r, "", err)
			return
		}
		v.counts.connected()
		v.conn = conn
	}
	kind, last, err := v.conn.ask(v.target, false)
	v.counts.end(r, kind, err)
	if err != nil || last {
		v.leave()
	}
}

func (v *keptVisitor) leave() {
	if v.conn != nil {
		v.conn.Close()
		v.conn = nil
	}
}
