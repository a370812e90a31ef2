// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/node"
)

// loadUsers makes memcached read the users again, unless it has them.
func (a *agent) loadUsers(ctx context.Context) error {
	wanted, loaded := a.wantedUsers(), a.loadedUsers()
	if slices.Equal(wanted, loaded) {
		return nil
	}
	if err := a.checkUsers(ctx, wanted, loaded); err != nil {
		// memcached looks at its signals once a second, so the next look will tell.
		return fmt.Errorf("memcached does not have the users yet: %w", errors.Join(err, a.hangUp()))
	}
	tellLoaded("memcached has the users", a.Secrets.Auth, "users", len(wanted))
	return replace(filepath.Join(a.Directory, usersLoaded), wanted.File())
}

// checkUsers asks memcached about each of them, and about those that were removed.
func (a *agent) checkUsers(ctx context.Context, wanted, before credentials.Users) error {
	for i, u := range wanted {
		conn, _, err := a.connect(ctx, credentials.Users{u}, a.certificates()...)
		if err != nil {
			return fmt.Errorf("user %d: %w", i+1, err)
		}
		conn.Close()
	}
	for i, u := range before {
		if slices.Contains(wanted, u) {
			continue
		}
		conn, _, err := a.connect(ctx, credentials.Users{u}, a.certificates()...)
		var refused *node.ReplyError
		switch {
		case err == nil:
			conn.Close()
			return fmt.Errorf("former user %d is still let in", i+1)
		case !errors.As(err, &refused) || !strings.HasPrefix(refused.Reply, "CLIENT_ERROR"):
			return fmt.Errorf("former user %d: %w", i+1, err)
		}
	}
	return nil
}

// loadTLS makes memcached read the certificate again, unless it has it.
func (a *agent) loadTLS(ctx context.Context) error {
	target, err := os.Readlink(filepath.Join(a.Directory, TLSDirectory))
	if err != nil {
		return err
	}
	if loaded, err := os.Readlink(filepath.Join(a.Directory, tlsLoaded)); err == nil && loaded == target {
		return nil
	}
	wanted := a.wantedTLS()
	if err := a.refresh(ctx, wanted); err != nil {
		return fmt.Errorf("memcached does not serve the certificate yet: %w", err)
	}
	tellLoaded("memcached serves the certificate", a.Secrets.TLS, "serial", serial(wanted.Leaf))
	return errors.Join(link(a.Directory, tlsLoaded, target), a.forget())
}

// refresh gives the order, and looks by a new handshake whether it was followed.
func (a *agent) refresh(ctx context.Context, wanted *credentials.TLS) error {
	users := slices.Concat(a.loadedUsers(), a.wantedUsers())
	conn, _, err := a.connect(ctx, users, a.certificates()...)
	if err != nil {
		return err
	}
	_, err = conn.Do(ctx, "refresh_certs", nil)
	conn.Close()
	if err != nil {
		return err
	}
	// With the new certificate only, which every client will have.
	conn, served, err := a.connect(ctx, users, wanted)
	if err != nil {
		return err
	}
	conn.Close()
	if !served.Equal(wanted.Leaf) {
		return fmt.Errorf("it serves the serial number %s", serial(served))
	}
	return nil
}

// certificates are what memcached is to have and what it had last.
func (a *agent) certificates() []*credentials.TLS {
	if a.Secrets.TLS == "" {
		return []*credentials.TLS{nil}
	}
	return slices.DeleteFunc([]*credentials.TLS{a.wantedTLS(), a.loadedTLS()}, func(t *credentials.TLS) bool { return t == nil })
}

// connect connects to memcached with the first certificate and user that it takes.
func (a *agent) connect(ctx context.Context, users credentials.Users, certificates ...*credentials.TLS) (*node.Conn, *x509.Certificate, error) {
	if len(users) == 0 {
		users = credentials.Users{{}}
	}
	var refused error
	for _, certificate := range certificates {
		for _, u := range users {
			conn, served, err := a.try(ctx, certificate, u)
			if err == nil {
				return conn, served, nil
			}
			// A refusal of memcached says more than that of a handshake.
			var reply *node.ReplyError
			if refused == nil || errors.As(err, &reply) {
				refused = err
			}
		}
	}
	return nil, nil, refused
}

func (a *agent) try(ctx context.Context, own *credentials.TLS, u credentials.User) (*node.Conn, *x509.Certificate, error) {
	client := &node.Client{Address: a.Memcached, User: u.Name, Password: u.Password}
	var served *x509.Certificate
	if own != nil {
		client.TLS = own.PinnedConfig(a.certificates()...)
		pinned := client.TLS.VerifyConnection
		client.TLS.VerifyConnection = func(state tls.ConnectionState) error {
			if err := pinned(state); err != nil {
				return err
			}
			served = state.PeerCertificates[0]
			return nil
		}
	}
	conn, err := client.Dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	// Whether a certificate is accepted shows with the first answer.
	if _, err := conn.Version(ctx); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, served, nil
}
