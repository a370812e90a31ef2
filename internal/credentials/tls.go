// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Keys of the Secret with the certificate.
const (
	CertificateKey = "tls.crt"
	PrivateKeyKey  = "tls.key"
	AuthorityKey   = "ca.crt"
)

// TLSKeys are all that may be in it.
var TLSKeys = []string{CertificateKey, PrivateKeyKey, AuthorityKey}

// minRSABits is the least that OpenSSL accepts as it is shipped today.
const minRSABits = 2048

// TLS is a certificate that the nodes serve, and that the operator and its helpers show
// to them as clients.
type TLS struct {
	// Leaf is the certificate itself.
	Leaf *x509.Certificate
	// Files are what it was read from, without an empty authority.
	Files Files

	certificate tls.Certificate
	roots       *x509.CertPool
}

// ParseTLS reads the certificate, and checks that nodes and clients can use it. With
// mutual set clients have to show a certificate, too. The time is not looked at.
func ParseTLS(files Files, mutual bool) (*TLS, error) {
	t := &TLS{Files: Files{CertificateKey: files[CertificateKey], PrivateKeyKey: files[PrivateKeyKey]}}
	for _, key := range []string{CertificateKey, PrivateKeyKey} {
		if len(files[key]) == 0 {
			return nil, &KeyError{key, "is missing"}
		}
	}
	// The certificate by itself first, to know which of the two is wrong.
	if _, err := firstCertificate(files[CertificateKey]); err != nil {
		return nil, &KeyError{CertificateKey, fmt.Sprintf("is no certificate in PEM format (%v)", err)}
	}
	var err error
	if t.certificate, err = tls.X509KeyPair(files[CertificateKey], files[PrivateKeyKey]); err != nil {
		return nil, &KeyError{PrivateKeyKey, fmt.Sprintf("is not the private key, in PEM format and without a passphrase, of the certificate in %s (%v)", CertificateKey, err)}
	}
	t.Leaf = t.certificate.Leaf
	if key, ok := t.Leaf.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < minRSABits {
		return nil, &KeyError{CertificateKey, fmt.Sprintf("has an RSA key of %d bits, which OpenSSL refuses: make one of at least %d", key.N.BitLen(), minRSABits)}
	}
	if err := t.checkUsage(mutual); err != nil {
		return nil, err
	}
	if err := t.setRoots(files[AuthorityKey], mutual); err != nil {
		return nil, err
	}
	return t, nil
}

// checkUsage looks for what the certificate is restricted to. A certificate that names
// no use is good for all.
func (t *TLS) checkUsage(mutual bool) error {
	wanted := map[x509.ExtKeyUsage]string{x509.ExtKeyUsageServerAuth: "server auth"}
	if mutual {
		wanted[x509.ExtKeyUsageClientAuth] = "client auth"
	}
	uses := t.Leaf.ExtKeyUsage
	if len(uses)+len(t.Leaf.UnknownExtKeyUsage) == 0 || slices.Contains(uses, x509.ExtKeyUsageAny) {
		return nil
	}
	for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if name := wanted[use]; name != "" && !slices.Contains(uses, use) {
			return &KeyError{CertificateKey, fmt.Sprintf(
				"is not for the use %q: issue it for it (with cert-manager: usages), because nodes serve it, and with clientAuth Require the operator shows it to them", name)}
		}
	}
	return nil
}

// setRoots finds out whom to trust: the authority in the Secret, and without one what
// is in the chain. A certificate that its own authority has not signed would keep the
// operator from its nodes.
func (t *TLS) setRoots(authority []byte, mutual bool) error {
	t.roots = x509.NewCertPool()
	if len(bytes.TrimSpace(authority)) == 0 {
		if mutual {
			return &KeyError{AuthorityKey, "is missing; clientAuth Require needs the certificates that sign those of clients"}
		}
		t.roots.AppendCertsFromPEM(t.Files[CertificateKey])
		return nil
	}
	t.Files[AuthorityKey] = authority
	if !t.roots.AppendCertsFromPEM(authority) {
		return &KeyError{AuthorityKey, "has no certificate in PEM format"}
	}
	intermediates := x509.NewCertPool()
	for _, der := range t.certificate.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			intermediates.AddCert(c)
		}
	}
	if err := t.verify(t.Leaf, intermediates, t.Leaf.NotBefore); err != nil {
		return &KeyError{AuthorityKey, fmt.Sprintf("has not signed the certificate in %s (%v)", CertificateKey, err)}
	}
	return nil
}

// CheckTime says what is wrong with the certificate at a time.
func (t *TLS) CheckTime(now time.Time) error {
	switch {
	case now.After(t.Leaf.NotAfter):
		return &KeyError{CertificateKey, "has expired on " + t.Leaf.NotAfter.UTC().Format(time.RFC3339) + ": renew it"}
	case now.Before(t.Leaf.NotBefore):
		return &KeyError{CertificateKey, "is not valid before " + t.Leaf.NotBefore.UTC().Format(time.RFC3339)}
	default:
		return nil
	}
}

// ClientConfig is for connections to nodes, to which the certificate is shown if they
// ask for one. Their certificate must be signed by the authority. Their name is not
// looked at: nodes are reached by addresses that no certificate knows.
func (t *TLS) ClientConfig() *tls.Config {
	return t.config(func(chain []*x509.Certificate) error {
		intermediates := x509.NewCertPool()
		for _, c := range chain[1:] {
			intermediates.AddCert(c)
		}
		return t.verify(chain[0], intermediates, time.Now())
	})
}

// PinnedConfig is for a connection to a node that must serve one of some certificates.
func (t *TLS) PinnedConfig(served ...*TLS) *tls.Config {
	return t.config(func(chain []*x509.Certificate) error {
		if !slices.ContainsFunc(served, func(s *TLS) bool { return s != nil && s.Leaf.Equal(chain[0]) }) {
			return fmt.Errorf("the certificate with the serial number %x is unknown", chain[0].SerialNumber)
		}
		return nil
	})
}

func (t *TLS) config(verify func(chain []*x509.Certificate) error) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		Certificates:       []tls.Certificate{t.certificate},
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it, without the name
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errors.New("the node shows no certificate")
			}
			return verify(state.PeerCertificates)
		},
	}
}

func (t *TLS) verify(leaf *x509.Certificate, intermediates *x509.CertPool, now time.Time) error {
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: t.roots, Intermediates: intermediates, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}
