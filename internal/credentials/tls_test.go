// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"bufio"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/credentials/credentialstest"
)

// with is a Secret with some keys changed; nil removes one.
func with(files, changes credentials.Files) credentials.Files {
	changed := maps.Clone(files)
	for key, value := range changes {
		changed[key] = value
		if value == nil {
			delete(changed, key)
		}
	}
	return changed
}

func weak(t *testing.T) credentials.Files {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return credentials.Files{
		credentials.CertificateKey: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		credentials.PrivateKeyKey:  pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
}

func TestParseTLS(t *testing.T) {
	authority := credentialstest.NewAuthority(t, "authority")
	good, other := authority.Issue(t), credentialstest.NewAuthority(t, "other").Issue(t)
	uses := func(all ...x509.ExtKeyUsage) credentials.Files {
		return authority.Issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = all })
	}
	for _, test := range []struct {
		name   string
		files  credentials.Files
		mutual bool
		key    string // with the problem; empty if there is none
		words  string
	}{
		{name: "good", files: good},
		{name: "good for clients", files: good, mutual: true},
		{name: "without an authority", files: with(good, credentials.Files{credentials.AuthorityKey: nil})},
		{name: "with an empty authority", files: with(good, credentials.Files{credentials.AuthorityKey: {}})},
		{name: "for servers", files: uses(x509.ExtKeyUsageServerAuth)},
		{name: "for both", files: uses(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth), mutual: true},
		{name: "for everything", files: uses(x509.ExtKeyUsageAny), mutual: true},
		{name: "expired", files: authority.Issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })},

		{name: "empty", files: nil, key: credentials.CertificateKey, words: "missing"},
		{name: "no certificate", files: with(good, credentials.Files{credentials.CertificateKey: nil}), key: credentials.CertificateKey, words: "missing"},
		{name: "no key", files: with(good, credentials.Files{credentials.PrivateKeyKey: nil}), key: credentials.PrivateKeyKey, words: "missing"},
		{name: "no PEM", files: with(good, credentials.Files{credentials.CertificateKey: []byte("hello")}), key: credentials.CertificateKey, words: "PEM"},
		{name: "key for certificate", files: with(good, credentials.Files{credentials.CertificateKey: good[credentials.PrivateKeyKey]}), key: credentials.CertificateKey, words: "PEM"},
		{name: "broken certificate", files: with(good, credentials.Files{credentials.CertificateKey: []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")}), key: credentials.CertificateKey, words: "no certificate"},
		{name: "key of another", files: with(good, credentials.Files{credentials.PrivateKeyKey: other[credentials.PrivateKeyKey]}), key: credentials.PrivateKeyKey, words: "not the private key"},
		{name: "certificate for key", files: with(good, credentials.Files{credentials.PrivateKeyKey: good[credentials.CertificateKey]}), key: credentials.PrivateKeyKey, words: "not the private key"},
		{name: "weak", files: weak(t), key: credentials.CertificateKey, words: "1024 bits"},
		{name: "for clients only", files: uses(x509.ExtKeyUsageClientAuth), key: credentials.CertificateKey, words: `"server auth"`},
		{name: "for servers only", files: uses(x509.ExtKeyUsageServerAuth), mutual: true, key: credentials.CertificateKey, words: `"client auth"`},
		{name: "no authority for clients", files: with(good, credentials.Files{credentials.AuthorityKey: nil}), mutual: true, key: credentials.AuthorityKey, words: "missing"},
		{name: "blank authority for clients", files: with(good, credentials.Files{credentials.AuthorityKey: []byte(" \n")}), mutual: true, key: credentials.AuthorityKey, words: "missing"},
		{name: "no PEM in the authority", files: with(good, credentials.Files{credentials.AuthorityKey: []byte("hello")}), key: credentials.AuthorityKey, words: "PEM"},
		{name: "another authority", files: with(good, credentials.Files{credentials.AuthorityKey: other[credentials.AuthorityKey]}), key: credentials.AuthorityKey, words: "has not signed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			parsed, err := credentials.ParseTLS(test.files, test.mutual)
			var wrong *credentials.KeyError
			switch {
			case test.key == "":
				if err != nil || parsed == nil || parsed.Leaf == nil {
					t.Errorf("%+v, %v", parsed, err)
				}
			case !errors.As(err, &wrong) || wrong.Key != test.key || !strings.Contains(wrong.Problem, test.words):
				t.Errorf("%v", err)
			case strings.Contains(err.Error(), "BEGIN"):
				t.Errorf("the error tells what is in the Secret: %v", err)
			}
		})
	}
}

func TestCheckTime(t *testing.T) {
	parsed, err := credentials.ParseTLS(credentialstest.NewAuthority(t, "authority").Issue(t), false)
	if err != nil {
		t.Fatal(err)
	}
	for hours, words := range map[int]string{0: "", 25: "has expired", -2: "is not valid before"} {
		err := parsed.CheckTime(time.Now().Add(time.Duration(hours) * time.Hour))
		if (words == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("after %d hours: %v", hours, err)
		}
	}
}

// The name of a node is no reason to refuse it, and an unknown authority is.
func TestConfigs(t *testing.T) {
	authority := credentialstest.NewAuthority(t, "authority")
	parse := func(files credentials.Files) *credentials.TLS {
		t.Helper()
		parsed, err := credentials.ParseTLS(files, false)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	node := authority.Issue(t)
	served := parse(node)
	sameAuthority := parse(authority.Issue(t))
	noAuthority := parse(with(node, credentials.Files{credentials.AuthorityKey: nil}))
	stranger := parse(credentialstest.NewAuthority(t, "authority").Issue(t)) // of the same name
	expired := parse(authority.Issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }))
	for _, test := range []struct {
		name   string
		serves *credentials.TLS
		config *tls.Config
		ok     bool
	}{
		{"the same authority", served, sameAuthority.ClientConfig(), true},
		{"the certificate itself", served, noAuthority.ClientConfig(), true},
		{"another authority", served, stranger.ClientConfig(), false},
		{"without an authority, another certificate", sameAuthority, noAuthority.ClientConfig(), false},
		{"expired", expired, sameAuthority.ClientConfig(), false},
		{"one of two that are known", served, stranger.PinnedConfig(stranger, served), true},
		{"none that is known", served, served.PinnedConfig(sameAuthority, nil), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, server := net.Pipe()
			defer client.Close()
			go func() {
				defer server.Close()
				conn := tls.Server(server, &tls.Config{Certificates: test.serves.ClientConfig().Certificates})
				conn.Write([]byte("hello\n")) //nolint:errcheck // the client may refuse
			}()
			line, err := bufio.NewReader(tls.Client(client, test.config)).ReadString('\n')
			if (err == nil) != test.ok || test.ok && line != "hello\n" {
				t.Errorf("%q, %v", line, err)
			}
		})
	}
}
