// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates, keys and kubeconfigs of a cluster: real
// ones, so that every connection is verified just as in production.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime is short enough that a forgotten sandbox is no lasting key to
// anything, and long enough for a demo that is left up over the holidays.
const lifetime = 90 * 24 * time.Hour

// Dir is a directory of certificates that have one authority.
type Dir struct {
	path string
}

// New makes the directory.
func New(path string) (Dir, error) {
	return Dir{path}, os.MkdirAll(path, 0o700)
}

// Cert and Key are the paths of a certificate and its key.
func (d Dir) Cert(name string) string { return filepath.Join(d.path, name+".crt") }
func (d Dir) Key(name string) string  { return filepath.Join(d.path, name+".key") }

// Kubeconfig is the path of a user's kubeconfig.
func (d Dir) Kubeconfig(user string) string { return filepath.Join(d.path, user+".kubeconfig") }

// An Authority signs certificates.
type Authority struct {
	dir  Dir
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Authority makes a new certificate authority.
func (d Dir) Authority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := template(pkix.Name{CommonName: name})
	template.IsCA = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{d, name, cert, key}, d.write(name, der, key)
}

// Client signs a certificate that a component proves its identity with.
func (a *Authority) Client(name, user string, groups ...string) error {
	t := template(pkix.Name{CommonName: user, Organization: groups})
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(name, t)
}

// Server signs a certificate for an endpoint that is reached by these names and addresses.
func (a *Authority) Server(name, user string, hosts ...string) error {
	t := template(pkix.Name{CommonName: user})
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return a.sign(name, t)
}

func (a *Authority) sign(name string, t *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	return a.dir.write(name, der, key)
}

// KeyPair makes the key that service account tokens are signed with, and its
// public half beside it.
func (d Dir) KeyPair(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(d.path, name+".pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	return d.writeKey(name, key)
}

// WriteKubeconfig writes a kubeconfig with which the holder of the certificate
// user speaks to server. Everything is inside it, so it can be copied.
func (a *Authority) WriteKubeconfig(path, user, server, context string) error {
	var data [3]string
	for i, file := range []string{a.dir.Cert(a.name), a.dir.Cert(user), a.dir.Key(user)} {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		data[i] = base64.StdEncoding.EncodeToString(b)
	}
	return os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: %[1]s
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
users:
- name: %[4]s
  user:
    client-certificate-data: %[5]s
    client-key-data: %[6]s
contexts:
- name: %[1]s
  context: {cluster: %[1]s, user: %[4]s}
current-context: %[1]s
`, context, server, data[0], user, data[1], data[2]), 0o600)
}

func template(subject pkix.Name) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // the kernel's random source does not fail
	}
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               subject,
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(lifetime),
		BasicConstraintsValid: true,
	}
}

func (d Dir) write(name string, cert []byte, key *ecdsa.PrivateKey) error {
	if err := writePEM(d.Cert(name), "CERTIFICATE", cert); err != nil {
		return err
	}
	return d.writeKey(name, key)
}

func (d Dir) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(d.Key(name), "PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
