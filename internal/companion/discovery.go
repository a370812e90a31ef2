// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package companion

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/example/web-operators/internal/companion/nodelist"
)

const (
	// maxRequest is more than the longest command that is understood.
	maxRequest = 128
	// idleTimeout is how long a client may take for its next command. Clients that keep
	// their connection ask about once a minute.
	idleTimeout = 5 * time.Minute
	// writeTimeout ends a connection whose client does not read.
	writeTimeout = 10 * time.Second
	// memcachedVersion is told to clients, which choose by it how to ask: from 1.4.14 on
	// with `config get cluster`.
	memcachedVersion = "1.6.0"
)

// discoveryServer speaks the part of memcached's protocol through which clients find
// the nodes of a cluster.
type discoveryServer struct {
	nodes *nodelist.Reader
	idle  time.Duration
}

func (s discoveryServer) serve(ctx context.Context, listener net.Listener) error {
	var open sync.WaitGroup
	defer open.Wait()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		conn, err := listener.Accept()
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		open.Go(func() {
			defer conn.Close()
			// A client that waits for nothing is not waited for.
			defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Now()) })() //nolint:errcheck // it is closed then
			s.talk(ctx, conn)
		})
	}
}

// talk answers one command after the other.
func (s discoveryServer) talk(ctx context.Context, conn net.Conn) {
	in := bufio.NewReaderSize(conn, maxRequest)
	for {
		// One deadline for the whole line: a client that sends a byte at a time has no more.
		if err := conn.SetReadDeadline(time.Now().Add(s.idle)); err != nil || ctx.Err() != nil {
			return // the end of the context may have set a deadline that is lost now
		}
		line, err := in.ReadSlice('\n')
		var answer string
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			answer = "CLIENT_ERROR line too long\r\n"
		case err != nil:
			return
		default:
			answer = s.answer(strings.Fields(string(line)))
		}
		if answer == "" {
			return
		}
		if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return
		}
		if _, writeErr := conn.Write([]byte(answer)); writeErr != nil || err != nil {
			return
		}
	}
}

// answer is what to say to a command; empty ends the connection.
func (s discoveryServer) answer(words []string) string {
	switch strings.Join(words, " ") {
	case "config get cluster":
		return reply("CONFIG cluster", s.nodes.Newest())
	case "get AmazonElastiCache:cluster": // how clients asked before there was the other
		return reply("VALUE AmazonElastiCache:cluster", s.nodes.Newest())
	case "version":
		return "VERSION " + memcachedVersion + "\r\n"
	case "quit":
		return ""
	default:
		return "ERROR\r\n"
	}
}

// reply is the list as clients read it. The length covers the two lines of the list
// with their newlines, and not the empty line that follows.
func reply(head string, l nodelist.List) string {
	if l.Version == 0 {
		return "SERVER_ERROR no list of nodes yet\r\n"
	}
	nodes := make([]string, 0, len(l.Nodes))
	for _, n := range l.Nodes {
		nodes = append(nodes, fmt.Sprintf("%s|%s|%d", n.Host, n.IP, n.Port))
	}
	list := fmt.Sprintf("%d\n%s\n", l.Version, strings.Join(nodes, " "))
	return fmt.Sprintf("%s 0 %d\r\n%s\r\nEND\r\n", head, len(list), list)
}
