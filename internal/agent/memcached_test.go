// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/example/web-operators/internal/credentials"
)

// memcached is the part of one that an agent talks to. Like the real one it reads its
// files only when it is told to, trusts an authority for ever, and is left without a
// certificate if the key is not that of it.
type memcached struct {
	directory    string
	secure, asks bool // TLS; users
	mutual       bool

	mu          sync.Mutex
	certificate tls.Certificate
	authorities *x509.CertPool
	users       map[string]bool
	hangUps     int
	deaf        bool // to signals
	connections int
}

func startMemcached(t *testing.T, m *memcached) (address string) {
	t.Helper()
	m.authorities = x509.NewCertPool()
	if m.secure {
		if err := m.refresh(); err != nil {
			t.Fatal(err)
		}
	}
	m.readUsers()
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
			go m.talk(conn)
		}
	}()
	return listener.Addr().String()
}

func (m *memcached) refresh() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := func(key string) string { return filepath.Join(m.directory, TLSDirectory, key) }
	m.certificate = tls.Certificate{}
	certificate, err := tls.LoadX509KeyPair(in(credentials.CertificateKey), in(credentials.PrivateKeyKey))
	if err != nil {
		return err
	}
	m.certificate = certificate
	if m.mutual {
		authority, err := os.ReadFile(in(credentials.AuthorityKey))
		if err != nil || !m.authorities.AppendCertsFromPEM(authority) {
			return errors.Join(errors.New("no authority"), err)
		}
	}
	return nil
}

func (m *memcached) readUsers() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users = map[string]bool{}
	list, _ := os.ReadFile(filepath.Join(m.directory, UsersFile))
	for line := range strings.Lines(string(list)) {
		m.users[strings.Replace(strings.TrimSuffix(line, "\n"), ":", " ", 1)] = true
	}
}

func (m *memcached) hangUp() error {
	m.mu.Lock()
	m.hangUps++
	deaf := m.deaf
	m.mu.Unlock()
	if !deaf {
		m.readUsers()
	}
	return nil
}

func (m *memcached) config() *tls.Config {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &tls.Config{Certificates: []tls.Certificate{m.certificate}}
	if m.mutual {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, m.authorities
	}
	return c
}

func (m *memcached) talk(conn net.Conn) {
	defer conn.Close()
	m.mu.Lock()
	m.connections++
	m.mu.Unlock()
	if m.secure {
		conn = tls.Server(conn, m.config())
	}
	in := bufio.NewReader(conn)
	known := !m.asks
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		answer := "ERROR"
		switch command := strings.TrimSpace(line); {
		case strings.HasPrefix(command, "set auth "):
			data, err := in.ReadString('\n')
			if err != nil {
				return
			}
			m.mu.Lock()
			known = m.users[strings.TrimSuffix(data, "\r\n")]
			m.mu.Unlock()
			answer = "STORED"
			if !known {
				answer = "CLIENT_ERROR authentication failure"
			}
		case !known:
			answer = "CLIENT_ERROR unauthenticated"
		case command == "version":
			answer = "VERSION 1.6.18"
		case command == "refresh_certs":
			answer = "OK"
			if err := m.refresh(); err != nil {
				answer = "Error loading"
			}
		}
		fmt.Fprint(conn, answer+"\r\n")
	}
}
