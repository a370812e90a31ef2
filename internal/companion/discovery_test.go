// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package companion

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/web-operators/internal/companion/nodelist"
)

// three is a list of three nodes.
var three = nodelist.List{Version: 12, Nodes: []nodelist.Node{
	{Name: "c-0", Host: "c-0.c.web.svc", IP: "10.0.0.1", Port: 11211},
	{Name: "c-1", Host: "c-1.c.web.svc", IP: "10.0.0.2", Port: 11211},
	{Name: "c-2", Host: "c-2.c.web.svc", IP: "10.0.0.3", Port: 11311},
}}

// reader reads a list as it is in a pod.
func reader(t *testing.T, l nodelist.List) *nodelist.Reader {
	t.Helper()
	directory := t.TempDir()
	if l.Version > 0 {
		if err := os.WriteFile(filepath.Join(directory, nodelist.File), []byte(l.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return nodelist.NewReader(directory)
}

func TestAnswers(t *testing.T) {
	// The length is that of the second and third line with their newlines.
	const list = "12\nc-0.c.web.svc|10.0.0.1|11211 c-1.c.web.svc|10.0.0.2|11211 c-2.c.web.svc|10.0.0.3|11311\n"
	for _, test := range []struct {
		nodes          nodelist.List
		command, reply string
	}{
		{three, "config get cluster", "CONFIG cluster 0 90\r\n" + list + "\r\nEND\r\n"},
		{three, "  config  get cluster ", "CONFIG cluster 0 90\r\n" + list + "\r\nEND\r\n"},
		{three, "get AmazonElastiCache:cluster", "VALUE AmazonElastiCache:cluster 0 90\r\n" + list + "\r\nEND\r\n"},
		{nodelist.List{Version: 3}, "config get cluster", "CONFIG cluster 0 3\r\n3\n\n\r\nEND\r\n"},
		{nodelist.List{}, "config get cluster", "SERVER_ERROR no list of nodes yet\r\n"},
		{three, "version", "VERSION 1.6.0\r\n"},
		{three, "quit", ""},
		{three, "", "ERROR\r\n"},
		{three, "get key", "ERROR\r\n"},
		{three, "config set cluster", "ERROR\r\n"},
		{three, "flush_all", "ERROR\r\n"},
	} {
		s := discoveryServer{nodes: reader(t, test.nodes)}
		if got := s.answer(strings.Fields(test.command)); got != test.reply {
			t.Errorf("%q is answered by %q, want %q", test.command, got, test.reply)
		}
	}
	if len(list) != 90 {
		t.Errorf("the list has %d bytes", len(list))
	}
}

// serve runs a discovery server, and returns its address and how to end it.
func serve(t *testing.T, idle time.Duration) (address string, end func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- discoveryServer{nodes: reader(t, three), idle: idle}.serve(ctx, listener) }()
	end = func() error {
		cancel()
		select {
		case err := <-ended:
			ended <- err
			return err
		case <-time.After(5 * time.Second):
			return errors.New("the server does not end")
		}
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String(), end
}

func dial(t *testing.T, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func TestConversation(t *testing.T) {
	address, _ := serve(t, time.Minute)
	conn, in := dial(t, address)
	// Both ends of a line, several commands in one packet, and one in several.
	for _, part := range []string{"config get cluster\r\nversion\n", "con", "fig get clu", "ster\nnonsense\r\nquit\r\n"} {
		if _, err := fmt.Fprint(conn, part); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond) // so that they are packets of their own
	}
	said, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	list := reply("CONFIG cluster", three)
	if want := list + "VERSION 1.6.0\r\n" + list + "ERROR\r\n"; string(said) != want {
		t.Errorf("%q, want %q", said, want)
	}
}

func TestOverlongLineEndsTheConnection(t *testing.T) {
	address, _ := serve(t, time.Minute)
	conn, in := dial(t, address)
	go fmt.Fprint(conn, strings.Repeat("x", 1<<20)) // it is refused on the way
	line, err := in.ReadString('\n')
	if line != "CLIENT_ERROR line too long\r\n" && !errors.Is(err, io.EOF) && !isReset(err) {
		t.Errorf("%q, %v", line, err)
	}
	if rest, err := io.ReadAll(in); len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection goes on: %q, %v", rest, err)
	}
}

func isReset(err error) bool {
	var network *net.OpError
	return errors.As(err, &network)
}

// A client that sends a byte now and then has no more time than one that sends nothing.
func TestSlowClientIsLeft(t *testing.T) {
	const idle = 300 * time.Millisecond
	address, _ := serve(t, idle)
	conn, in := dial(t, address)
	begin := time.Now()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(idle / 10):
				fmt.Fprint(conn, "c")
			}
		}
	}()
	if _, err := io.ReadAll(in); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server waits for ever")
	}
	if took := time.Since(begin); took > 5*idle {
		t.Errorf("it took %v", took)
	}
}

func TestEndDoesNotWaitForIdleClients(t *testing.T) {
	address, end := serve(t, time.Hour)
	conn, in := dial(t, address)
	fmt.Fprint(conn, "version\r\n")
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := end(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}
