// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/credentials/credentialstest"
)

// A new connection shows the password that is mounted now, one that is open shows none.
func TestConnectReadsSecretsAgain(t *testing.T) {
	directory := t.TempDir()
	certificate := credentialstest.NewAuthority(t, "authority").Issue(t)
	mount := func(name string, files credentials.Files) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(directory, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for key, content := range files {
			if err := os.WriteFile(filepath.Join(directory, name, key), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := mountedSecrets(directory); got != (credentials.Directories{}) {
		t.Errorf("%+v is mounted", got)
	}
	mount("tls", certificate)
	mount("auth", credentials.Files{"users": []byte("app:old")})
	shown := make(chan string, 10)
	l := &load{nodes: []*target{{name: serveOnly(t, certificate, "app new", shown)}}, secrets: mountedSecrets(directory)}
	l.reset()
	try := func() { l.arrived(0, l.tryConnection(l.nodes[0].name)) }

	try()
	if a := l.read().Arrivals[0]; a.Rejected != 1 || !strings.Contains(a.Last, "CLIENT_ERROR") || a.First != a.Last {
		t.Errorf("with the old password: %+v", a)
	}
	if c, err := l.dial(l.nodes[0].name, requestPatience); err == nil || !strings.Contains(err.Error(), "CLIENT_ERROR") {
		t.Errorf("with the old password: %v, %v", c, err)
	}
	mount("auth", credentials.Files{"users": []byte("app:new")})
	try()
	if a := l.read().Arrivals[0]; a.Accepted != 1 || a.Rejected != 1 || a.Last != "" {
		t.Errorf("with the new password: %+v", a)
	}
	c, err := l.dial(l.nodes[0].name, requestPatience)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if _, err := c.statistics("stats\r\n"); err != nil {
			t.Error(err)
		}
	}
	close(shown)
	var all []string
	for password := range shown {
		all = append(all, password)
	}
	if got := strings.Join(all, ","); got != "app old,app old,app new,app new" {
		t.Errorf("the passwords shown are %q", got)
	}
}

// serveOnly is a node that speaks TLS and lets one user in.
func serveOnly(t *testing.T, certificate credentials.Files, user string, shown chan<- string) string {
	t.Helper()
	pair, err := tls.X509KeyPair(certificate[credentials.CertificateKey], certificate[credentials.PrivateKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					answer := "END\r\n"
					switch command := lines.Text(); {
					case strings.HasPrefix(command, "set auth 0 0 "):
						lines.Scan()
						shown <- lines.Text()
						answer = "STORED\r\n"
						if lines.Text() != user {
							answer = "CLIENT_ERROR authentication failure\r\n"
						}
					case command == "version":
						answer = "VERSION 1\r\n"
					}
					io.WriteString(conn, answer) //nolint:errcheck // the client will tell
				}
			}()
		}
	}()
	return listener.Addr().String()
}
