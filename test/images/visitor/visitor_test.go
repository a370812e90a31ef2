// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"
)

const requests = 10

// serve answers connections on a loopback address one after the other. The handler is
// given the number of the connection, and whether there was a request is up to it.
func serve(t *testing.T, handle func(i int, conn net.Conn)) *target {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for i := 0; ; i++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handle(i, conn)
			conn.Close()
		}
	}()
	return &target{&url.URL{Scheme: "http", Host: "example.com", Path: "/"}, listener.Addr().String()}
}

// answer reads one request and answers it. It reports whether there was one.
func answer(conn net.Conn, in *bufio.Reader, headers string) bool {
	if _, err := http.ReadRequest(in); err != nil {
		return false
	}
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n%s\r\npage\n", headers)
	return true
}

func answerAll(_ int, conn net.Conn) {
	for in := bufio.NewReader(conn); answer(conn, in, ""); {
	}
}

func answerOnce(_ int, conn net.Conn) {
	answer(conn, bufio.NewReader(conn), "")
}

func answerLast(_ int, conn net.Conn) {
	answer(conn, bufio.NewReader(conn), "Connection: close\r\n")
}

// answerEveryOther reads a second request and says nothing to it.
func answerEveryOther(_ int, conn net.Conn) {
	in := bufio.NewReader(conn)
	answer(conn, in, "")
	http.ReadRequest(in) //nolint:errcheck // what matters is that it is not answered
}

func hangUp(int, net.Conn) {}

// Every request counts once, as what visitors would call it.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		name        string
		connection  string
		handle      func(i int, conn net.Conn)
		failed      int
		class       string
		connections int
	}{
		{"new connections that are answered", connectionNew, answerOnce, 0, "", 0},
		{"new connections that are not answered", connectionNew, hangUp, requests, "reset", 0},
		{"a connection that stays open", connectionKept, answerAll, 0, "", 1},
		{"a server that closes while nothing is asked", connectionKept, answerOnce, 0, "", requests},
		{"a server that says it closes", connectionKept, answerLast, 0, "", requests},
		{"a server that closes without an answer", connectionKept, answerEveryOther, requests / 2, "reset", requests / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := serve(t, c.handle)
			counts := newCounts()
			kept := &keptVisitor{target: target, counts: counts}
			defer kept.leave()
			for range requests {
				if c.connection == connectionNew {
					visit(target, counts)
				} else {
					kept.visit()
					// The server's end of the connection takes a moment to arrive. A
					// request that is sent meanwhile would be lost, and rightly count.
					time.Sleep(50 * time.Millisecond)
				}
			}
			r := counts.read()
			if r.Requests != requests || r.Failed != c.failed || r.Failures[c.class] != c.failed || r.Connections != c.connections {
				t.Errorf("want %d requests, %d failed as %q, %d connections: %+v", requests, c.failed, c.class, c.connections, r)
			}
			if got := r.Pages[c.connection]["200 page"].Count; got != requests-c.failed {
				t.Errorf("the page was counted %d times, want %d", got, requests-c.failed)
			}
			if len(r.FirstFailures) != c.failed {
				t.Errorf("%d failures are spelled out: %q", len(r.FirstFailures), r.FirstFailures)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	counts := newCounts()
	visit(&target{&url.URL{Scheme: "http", Host: "example.com"}, listener.Addr().String()}, counts)
	if r := counts.read(); r.Failed != 1 || r.Failures["refused"] != 1 {
		t.Errorf("want one refused request: %+v", r)
	}
}

// A page is wrong if it is not what was expected from before the request to after it.
func TestExpect(t *testing.T) {
	c := newCounts()
	begun := c.begin(connectionNew)
	c.expect("application")
	c.end(begun, "200 page", nil)
	c.end(c.begin(connectionNew), "200 application", nil)
	c.end(c.begin(connectionKept), "200 page", nil)
	if r := c.read(); r.Wrong != 0 {
		t.Errorf("nothing is wrong yet: %+v", r)
	}
	c.end(c.begin(connectionNew), "200 page", nil)
	if r := c.read(); r.Wrong != 1 || len(r.FirstWrong) != 1 {
		t.Errorf("want one wrong page: %+v", r)
	}
	c.expect("")
	c.end(c.begin(connectionNew), "200 page", nil)
	if r := c.read(); r.Wrong != 1 || r.Requests != 5 {
		t.Errorf("anything should be right: %+v", r)
	}
}

// Every request is in one report, but for those that began before the first.
func TestReset(t *testing.T) {
	c := newCounts()
	c.end(c.begin(connectionNew), "200 page", nil)
	early := c.begin(connectionNew)
	c.reset()
	c.end(early, "", net.ErrClosed)
	held := c.begin(connectionNew)
	c.end(c.begin(connectionNew), "200 page", nil)
	if r := c.reset(); r.Requests != 1 || r.Failed != 0 {
		t.Errorf("want one request: %+v", r)
	}
	c.end(held, "200 page", nil)
	if r := c.read(); r.Requests != 1 || r.Unanswered != 0 {
		t.Errorf("want the request that was held: %+v", r)
	}
}
