// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent brings certificates and passwords to the memcached beside it, without a
// restart. It has no rights in the cluster and reads nothing but the Secrets that are
// mounted in its own container.
//
// # Why does memcached not read the Secrets itself?
//
// The kubelet brings whatever is in them. memcached takes a part of a broken list of
// users, and an empty one for a list of nobody; and a key that does not belong to its
// certificate leaves it with a certificate that it cannot serve, so that not even the
// command to read them again reaches it. So the agent publishes only what it has
// checked, in a directory that both see, and a broken Secret leaves the last good one
// in use.
//
// # How does it know that memcached has them?
//
// It asks: for the certificate by a handshake, for the users by their passwords, new and
// old. Until the answer is right it tells memcached again. What memcached had last is
// kept beside what it is to have, also over a restart of the agent: a node that knows
// only the old authority wants to see the old certificate before it takes an order.
package agent

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/example/web-operators/internal/credentials"
)

const (
	// period is the time between two looks at the Secrets.
	period = time.Second
	// patience is for all connections of one look.
	patience = 5 * time.Second
)

// Options say what to do.
type Options struct {
	// Secrets are where they are mounted.
	Secrets credentials.Directories
	// Mutual means that clients have to show a certificate.
	Mutual bool
	// Directory is where memcached reads.
	Directory string
	// Memcached is its address.
	Memcached string
	// Status is the address that tells about the agent.
	Status string
}

type agent struct {
	Options
	// hangUp tells memcached to read its users again.
	hangUp func() error
	status status
	read   map[string]*credentials.TLS // by version
}

// Run works until the context ends.
func Run(ctx context.Context, o Options) error {
	if o.Secrets == (credentials.Directories{}) {
		return errors.New("nothing to do: set --tls-dir or --auth-dir")
	}
	a := &agent{Options: o, hangUp: processes{root: "/proc", name: "memcached"}.hangUp}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.status.serve(ctx, o.Status) })
	group.Go(func() error {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			a.status.set(a.look(ctx))
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	})
	return group.Wait()
}

// look publishes what is new in the Secrets, and makes memcached read it.
func (a *agent) look(ctx context.Context) Report {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var r Report
	if a.Secrets.TLS != "" {
		r.TLS = &Part{Version: version(a.Secrets.TLS)}
		r.TLS.add(a.publishTLS())
	}
	if a.Secrets.Auth != "" {
		r.Auth = &Part{Version: version(a.Secrets.Auth)}
		r.Auth.add(a.publishUsers())
	}
	if r.Ready = a.published(); !r.Ready {
		return r // memcached waits for it, too
	}
	// Users first: whoever was removed should not stay because of a certificate.
	if r.Auth != nil {
		r.Auth.add(a.loadUsers(ctx))
	}
	if r.TLS != nil {
		r.TLS.add(a.loadTLS(ctx))
		if t := a.loadedTLS(); t != nil {
			r.TLS.Serial, r.TLS.NotAfter = serial(t.Leaf), &t.Leaf.NotAfter
		}
	}
	return r
}

// published reports whether there is everything that memcached needs to start.
func (a *agent) published() bool {
	return (a.Secrets.TLS == "" || a.wantedTLS() != nil) && (a.Secrets.Auth == "" || len(a.wantedUsers()) > 0)
}

// tellLoaded tells how long it took since the kubelet brought the Secret.
func tellLoaded(what, secret string, args ...any) {
	slog.Info(what, append(args, "version", version(secret), "behindSeconds", time.Since(broughtAt(secret)).Seconds())...)
}

func serial(c *x509.Certificate) string { return fmt.Sprintf("%x", c.SerialNumber) }
