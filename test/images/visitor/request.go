// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	// timeout is for a connection, and again for a request. It is long, so that on a busy
	// machine it is the Service that fails a request and not the machine.
	timeout = 20 * time.Second
	// dnsPatience is longer than a missing name is cached in a cluster.
	dnsPatience = time.Minute
	// maxBody is more than any page of the tests.
	maxBody = 1 << 20
	// maxLine is how much of a page's first line tells it from another.
	maxLine = 100
)

// target is what is asked for. The name is looked up once, as the address of a Service
// does not change: what is watched is the Service, not the name server.
type target struct {
	url     *url.URL
	address string
}

func resolve(rawURL string) (*target, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(dnsPatience); ; time.Sleep(200 * time.Millisecond) {
		address, err := net.ResolveTCPAddr("tcp", u.Host)
		if err == nil {
			return &target{u, address.String()}, nil
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
}

// A connection to the target.
type connection struct {
	net.Conn
	in *bufio.Reader
}

func (t *target) dial() (*connection, error) {
	conn, err := net.DialTimeout("tcp", t.address, timeout)
	if err != nil {
		return nil, err
	}
	return &connection{conn, bufio.NewReader(conn)}, nil
}

// closedByServer reports whether the server has closed the connection, or said
// something without being asked.
func (c *connection) closedByServer() bool {
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return true
	}
	open := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		open = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err != nil || !open
}

// send sends one request, for an answer of some type.
func (c *connection) send(t *target, accept string, last bool) error {
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	req := &http.Request{Method: http.MethodGet, URL: t.url, Host: t.url.Host, Header: http.Header{"Accept": {accept}}, Close: last}
	return req.Write(c)
}

// ask makes one request, and returns what kind of page came, and whether it is the
// last on this connection.
func (c *connection) ask(t *target, last bool) (string, bool, error) {
	if err := c.send(t, "text/plain", last); err != nil {
		return "", true, err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return "", true, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return "", true, err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	return fmt.Sprintf("%d %.*s", resp.StatusCode, maxLine, line), resp.Close, nil
}

// class is what visitors would call a failure.
func class(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "reset"
	}
	return "other"
}
