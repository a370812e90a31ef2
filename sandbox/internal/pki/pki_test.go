// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// A server and a client with these certificates accept each other, and nobody
// who has none or one of another authority.
func TestMutualAuthentication(t *testing.T) {
	dir, err := New(filepath.Join(t.TempDir(), "pki"))
	if err != nil {
		t.Fatal(err)
	}
	ca, other := authority(t, dir, "ca"), authority(t, dir, "other")
	check(t, ca.Server("server", "a server", "127.0.0.1", "localhost"))
	check(t, ca.Client("client", "a client", "a group"))
	check(t, other.Client("stranger", "a client", "a group"))

	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{load(t, dir, "server")},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    pool(t, dir.Cert("ca")),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()

	for _, c := range []struct {
		name   string
		trust  string
		client string
		host   string
		ok     bool
	}{
		{"right certificates", "ca", "client", "localhost", true},
		{"by address", "ca", "client", "127.0.0.1", true},
		{"another name", "ca", "client", "elsewhere", false},
		{"untrusted server", "other", "client", "localhost", false},
		{"stranger", "ca", "stranger", "localhost", false},
		{"server's certificate as client", "ca", "server", "localhost", false},
	} {
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{
			RootCAs:      pool(t, dir.Cert(c.trust)),
			Certificates: []tls.Certificate{load(t, dir, c.client)},
			ServerName:   c.host,
		})
		if err == nil {
			// A refused certificate shows at the first read.
			_, err = conn.Read(make([]byte, 2))
			conn.Close()
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestKeysAreForTheirOwnerOnly(t *testing.T) {
	dir, err := New(filepath.Join(t.TempDir(), "pki"))
	if err != nil {
		t.Fatal(err)
	}
	ca := authority(t, dir, "ca")
	check(t, ca.Client("user", "user"))
	check(t, ca.WriteKubeconfig(dir.Kubeconfig("user"), "user", "https://localhost", "test"))
	for _, path := range []string{dir.Key("ca"), dir.Key("user"), dir.Kubeconfig("user")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
}

func answer(conn net.Conn) {
	conn.Write([]byte("ok")) //nolint:errcheck // the client tells what it saw
	conn.Close()
}

func authority(t *testing.T, dir Dir, name string) *Authority {
	t.Helper()
	a, err := dir.Authority(name)
	check(t, err)
	return a
}

func load(t *testing.T, dir Dir, name string) tls.Certificate {
	t.Helper()
	c, err := tls.LoadX509KeyPair(dir.Cert(name), dir.Key(name))
	check(t, err)
	return c
}

func pool(t *testing.T, path string) *x509.CertPool {
	t.Helper()
	pem, err := os.ReadFile(path)
	check(t, err)
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(pem)
	return p
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
