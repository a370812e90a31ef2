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
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/example/web-operators/internal/credentials"
)

const (
	// secretsDirectory has the directory tls in the pod of a client whose nodes speak TLS,
	// and the directory auth if they ask for a password.
	secretsDirectory = "/secrets"
	// connectInterval is how often a new connection to each node is tried.
	connectInterval = 100 * time.Millisecond
)

// mountedSecrets are those that the pod has.
func mountedSecrets(directory string) credentials.Directories {
	mounted := func(name string) string {
		path := filepath.Join(directory, name)
		if _, err := os.Stat(path); err != nil {
			return ""
		}
		return path
	}
	return credentials.Directories{TLS: mounted("tls"), Auth: mounted("auth")}
}

// connect opens a connection as the Secrets are now: they may have been rotated since the
// last one.
func (l *load) connect(ctx context.Context, network, address string) (net.Conn, error) {
	access, err := l.secrets.Read()
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	how := access.Client(address)
	if how.TLS != nil {
		conn = tls.Client(conn, how.TLS) // the handshake comes with the first command
	}
	if how.User != "" {
		if err := authenticate(ctx, conn, how.User+" "+how.Password); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// authenticate is what a node with users wants to hear first.
func authenticate(ctx context.Context, conn net.Conn, who string) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(conn, "set auth 0 0 %d\r\n%s\r\n", len(who), who); err != nil {
		return err
	}
	// Nothing follows the line, so the reader takes nothing of the next answer.
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if answer = strings.TrimSpace(answer); answer != "STORED" {
		return errors.New(answer)
	}
	return nil
}

// dial is for those who speak the protocol themselves.
func (l *load) dial(server string, patience time.Duration) (*connection, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := l.connect(ctx, "tcp", server)
	if err != nil {
		return nil, err
	}
	return &connection{c, bufio.NewReader(c), patience}, nil
}

// arrivals are the new connections to a node since the last reset.
type arrivals struct {
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	// First is why the first of them was rejected, Last why the last was, if it was.
	First string `json:"first"`
	Last  string `json:"last"`
}

// keepConnecting opens new connections all the time: those that are open do not tell
// whether a node takes the Secrets of today.
func (l *load) keepConnecting(node int) {
	for range time.Tick(connectInterval) {
		l.arrived(node, l.tryConnection(l.nodes[node].name))
	}
}

func (l *load) tryConnection(server string) error {
	access, err := l.secrets.Read()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestPatience)
	defer cancel()
	c, err := access.Client(server).Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Version(ctx) // whether a certificate is accepted shows with the first answer
	return err
}

func (l *load) arrived(node int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &l.Arrivals[node]
	if err == nil {
		a.Accepted++
		a.Last = ""
		return
	}
	a.Rejected++
	a.Last = time.Now().Format(time.TimeOnly) + " " + err.Error()
	if a.First == "" {
		a.First = a.Last
	}
}
