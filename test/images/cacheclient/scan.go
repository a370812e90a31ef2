// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// scanners is how many ports are tried at a time.
	scanners = 100
	// scanPatience is for one try of a port; one that is closed says so at once.
	scanPatience = 5 * time.Second
	// scanTries are for a busy machine, which loses packets.
	scanTries = 10
)

// openPort is what a port says to a stranger: one that speaks plain text, and one that
// speaks TLS and has no certificate.
type openPort struct {
	Port  int    `json:"port"`
	Plain string `json:"plain"`
	TLS   string `json:"tls"`
}

// scan tries the ports of a host.
func scan(host string, ports int) ([]openPort, error) {
	var mu sync.Mutex
	open := []openPort{}
	var failed error
	next := make(chan int)
	var all sync.WaitGroup
	for range scanners {
		all.Go(func() {
			for port := range next {
				address := net.JoinHostPort(host, strconv.Itoa(port))
				found, err := knock(address)
				for try := 1; err != nil && try < scanTries; try++ {
					found, err = knock(address)
				}
				mu.Lock()
				failed = errors.Join(failed, err)
				if found != nil {
					found.Port = port
					open = append(open, *found)
				}
				mu.Unlock()
			}
		})
	}
	for port := 1; port <= ports; port++ {
		next <- port
	}
	close(next)
	all.Wait()
	slices.SortFunc(open, func(a, b openPort) int { return a.Port - b.Port })
	return open, failed
}

// knock returns nil if nobody listens there.
func knock(address string) (*openPort, error) {
	ctx, cancel := context.WithTimeout(context.Background(), scanPatience)
	defer cancel()
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		if strings.Contains(err.Error(), "connection refused") {
			return nil, nil
		}
		return nil, err // it may listen, and we do not know
	}
	defer plain.Close()
	found := &openPort{Plain: ask(plain)}
	conn, err := (&tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, // a stranger does not care
	}}).DialContext(ctx, "tcp", address)
	if err != nil {
		found.TLS = "error: " + err.Error()
		return found, nil
	}
	defer conn.Close()
	found.TLS = ask(conn)
	return found, nil
}

// ask is what memcached, or a web server, says of itself.
func ask(conn net.Conn) string {
	if err := conn.SetDeadline(time.Now().Add(scanPatience)); err != nil {
		return "error: " + err.Error()
	}
	if _, err := fmt.Fprint(conn, "version\r\n\r\n"); err != nil {
		return "error: " + err.Error()
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if line != "" {
		return strings.TrimSpace(line)
	}
	return fmt.Sprintf("error: %v", err)
}
