// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// answering is a node that gives the same answers to every client, one for each line
// that it reads.
func answering(t *testing.T, wrap func(net.Conn) net.Conn, answers ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn := wrap(conn)
				in := bufio.NewReader(conn)
				for _, answer := range answers {
					if _, err := in.ReadString('\n'); err != nil {
						return
					}
					if _, err := io.WriteString(conn, answer); err != nil {
						return
					}
				}
				io.Copy(io.Discard, in) //nolint:errcheck // it waits for the client to go
			}()
		}
	}()
	return listener.Addr().String()
}

func plain(conn net.Conn) net.Conn { return conn }

func connect(t *testing.T, c *Client) *Conn {
	t.Helper()
	conn, err := c.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestStats(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		want         map[string]string
		fails        bool
	}{
		{name: "two", answer: "STAT pid 1\r\nSTAT version 1.6.18\r\nEND\r\n", want: map[string]string{"pid": "1", "version": "1.6.18"}},
		{name: "none", answer: "END\r\n", want: map[string]string{}},
		{name: "value with spaces", answer: "STAT ssl_ciphers a b\r\nSTAT empty\r\nSTAT blank \r\nEND\r\n", want: map[string]string{"ssl_ciphers": "a b", "empty": "", "blank": ""}},
		{name: "bare newlines", answer: "STAT pid 1\nEND\n", want: map[string]string{"pid": "1"}},
		{name: "refused", answer: "ERROR\r\n", fails: true},
		{name: "authentication", answer: "CLIENT_ERROR unauthenticated\r\n", fails: true},
		{name: "too many connections", answer: "ERROR Too many open connections\r\n", fails: true},
		{name: "no memcached", answer: "HTTP/1.1 400 Bad Request\r\nEND\r\n", fails: true},
		{name: "a long line", answer: strings.Repeat("x", 1<<20), fails: true},
		{name: "many lines", answer: strings.Repeat("STAT a 1\r\n", 100_000), fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := connect(t, &Client{Address: answering(t, plain, test.answer)})
			got, err := conn.Stats(t.Context(), "items")
			if test.fails != (err != nil) || !maps.Equal(got, test.want) {
				t.Errorf("%v, %v", got, err)
			}
			var refused *ReplyError
			if strings.Contains(test.answer, "ERROR") && !errors.As(err, &refused) {
				t.Errorf("%v is not a refusal", err)
			}
		})
	}
}

func TestSeveralCommandsOnOneConnection(t *testing.T) {
	conn := connect(t, &Client{Address: answering(t, plain, "VERSION 1.6.45\r\n", "STAT a 1\r\nEND\r\n", "OK\r\n", "nonsense\r\n")})
	if version, err := conn.Version(t.Context()); err != nil || version != "1.6.45" {
		t.Errorf("%q, %v", version, err)
	}
	if stats, err := conn.Stats(t.Context(), ""); err != nil || stats["a"] != "1" {
		t.Errorf("%v, %v", stats, err)
	}
	if lines, err := conn.Do(t.Context(), "cache_memlimit 64", nil); err != nil || lines[0] != "OK" {
		t.Errorf("%q, %v", lines, err)
	}
	if version, err := conn.Version(t.Context()); err == nil {
		t.Errorf("the version is %q", version)
	}
	if _, err := conn.Do(t.Context(), "version\r\nflush_all", nil); err == nil {
		t.Error("two commands were sent as one")
	}
}

// The time that the context gives is the limit of every wait.
func TestTimeout(t *testing.T) {
	conn := connect(t, &Client{Address: answering(t, plain)})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := conn.Stats(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestPassword(t *testing.T) {
	// The node reads two lines, the command and the data, and answers the second.
	conn := connect(t, &Client{Address: answering(t, plain, "", "STORED\r\n", "VERSION 1\r\n"), User: "u", Password: "secret"})
	if version, err := conn.Version(t.Context()); err != nil || version != "1" {
		t.Errorf("%q, %v", version, err)
	}
	for _, answer := range []string{"CLIENT_ERROR authentication failure\r\n", "NOT_STORED\r\n"} {
		_, err := (&Client{Address: answering(t, plain, "", answer), User: "u", Password: "secret"}).Dial(t.Context())
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(server.Close)
	wrap := func(conn net.Conn) net.Conn {
		return tls.Server(conn, &tls.Config{Certificates: server.TLS.Certificates})
	}
	address := answering(t, wrap, "VERSION 1\r\n")
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	conn := connect(t, &Client{Address: address, TLS: &tls.Config{RootCAs: roots, ServerName: "example.com"}})
	if version, err := conn.Version(t.Context()); err != nil || version != "1" {
		t.Errorf("%q, %v", version, err)
	}
	conn = connect(t, &Client{Address: address, TLS: &tls.Config{ServerName: "example.com"}})
	if _, err := conn.Version(t.Context()); err == nil {
		t.Error("a certificate of nobody is trusted")
	}
}
