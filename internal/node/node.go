// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node talks to one memcached node, in memcached's text protocol.
package node

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	// maxLine is more than any line of an answer has; an answer of a stranger on the
	// port must not fill the memory.
	maxLine = 4096
	// maxLines is more than the longest answer has: two dozen statistics for each of
	// the 63 slab classes.
	maxLines = 4096
)

// Client says how to reach a node.
type Client struct {
	// Address is host:port.
	Address string
	// TLS is nil for a node that speaks plain text.
	TLS *tls.Config
	// User and Password are empty for a node that asks for none.
	User, Password string
}

// Conn is a connection to a node, for one command at a time.
type Conn struct {
	conn net.Conn
	in   *bufio.Reader
}

// ReplyError is a node's refusal.
type ReplyError struct {
	// Command is its first word: what follows may be secret.
	Command, Reply string
}

func (e *ReplyError) Error() string {
	return fmt.Sprintf("memcached answers %q to %s", e.Reply, e.Command)
}

// Dial connects to the node, and shows it the password if there is one.
func (c *Client) Dial(ctx context.Context) (*Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	if c.TLS != nil {
		conn = tls.Client(conn, c.TLS) // the handshake comes with the first command
	}
	n := &Conn{conn: conn, in: bufio.NewReaderSize(conn, maxLine)}
	if c.User != "" {
		if err := n.authenticate(ctx, c.User+" "+c.Password); err != nil {
			return nil, errors.Join(err, n.Close())
		}
	}
	return n, nil
}

func (n *Conn) authenticate(ctx context.Context, credentials string) error {
	lines, err := n.exchange(ctx, fmt.Sprintf("set auth 0 0 %d\r\n%s\r\n", len(credentials), credentials), nil)
	if err != nil {
		return fmt.Errorf("authenticating: %w", err)
	}
	if lines[0] != "STORED" {
		return &ReplyError{Command: "set auth", Reply: lines[0]}
	}
	return nil
}

// Close ends the connection.
func (n *Conn) Close() error { return n.conn.Close() }

// Do sends a command and returns the lines of the answer, without the last one if there
// are more. last says which one that is; nil stands for an answer of one line. A refusal
// is a *ReplyError.
func (n *Conn) Do(ctx context.Context, command string, last func(line string) bool) ([]string, error) {
	if strings.ContainsAny(command, "\r\n") {
		return nil, errors.New("a command is one line")
	}
	return n.exchange(ctx, command+"\r\n", last)
}

func (n *Conn) exchange(ctx context.Context, request string, last func(line string) bool) ([]string, error) {
	// Whatever ends the context ends the wait for the network, too.
	stop := context.AfterFunc(ctx, func() { n.conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // a closed connection waits for nothing
	defer stop()
	if _, err := n.conn.Write([]byte(request)); err != nil {
		return nil, cause(ctx, err)
	}
	var lines []string
	for range maxLines {
		line, err := n.in.ReadSlice('\n')
		if err != nil {
			return nil, cause(ctx, err)
		}
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case isRefusal(text):
			command, _, _ := strings.Cut(request, " ")
			return nil, &ReplyError{Command: strings.TrimSpace(command), Reply: text}
		case last == nil:
			return []string{text}, nil
		case last(text):
			return lines, nil
		}
		lines = append(lines, text)
	}
	return nil, fmt.Errorf("the answer has more than %d lines", maxLines)
}

// cause says that time is up where a broken connection is only how it shows.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func isRefusal(line string) bool {
	return line == "ERROR" || strings.HasPrefix(line, "ERROR ") ||
		strings.HasPrefix(line, "CLIENT_ERROR ") || strings.HasPrefix(line, "SERVER_ERROR ")
}
