// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/credentials/credentialstest"
)

// bring is what the kubelet does when a Secret has changed: all files in a new
// directory, and the link to it swapped.
func bring(t *testing.T, directory string, files credentials.Files) {
	t.Helper()
	version := filepath.Join(directory, fmt.Sprintf("..version%d", time.Now().UnixNano()))
	if err := os.Mkdir(version, 0o700); err != nil {
		t.Fatal(err)
	}
	for key, data := range files {
		if err := os.WriteFile(filepath.Join(version, key), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := link(directory, "..data", filepath.Base(version)); err != nil {
		t.Fatal(err)
	}
}

// pair is an agent and the memcached beside it, which starts when the agent is ready.
type pair struct {
	*testing.T
	agent     *agent
	memcached *memcached
}

func newPair(t *testing.T, certificate, users credentials.Files, mutual bool) *pair {
	t.Helper()
	a := &agent{Options: Options{Directory: t.TempDir(), Mutual: mutual, Memcached: "127.0.0.1:1"}}
	if certificate != nil {
		a.Secrets.TLS = t.TempDir()
		bring(t, a.Secrets.TLS, certificate)
	}
	if users != nil {
		a.Secrets.Auth = t.TempDir()
		bring(t, a.Secrets.Auth, users)
	}
	m := &memcached{directory: a.Directory, secure: certificate != nil, mutual: mutual, asks: users != nil}
	a.hangUp = func() error { return errors.New("no process") }
	p := &pair{t, a, m}
	if r := a.look(t.Context()); !r.Ready {
		t.Fatalf("not ready before memcached starts: %+v %+v", r.TLS, r.Auth)
	}
	a.Memcached, a.hangUp = startMemcached(t, m), m.hangUp
	p.settle()
	return p
}

// settle looks until everything is up to date, as often as a few seconds allow.
func (p *pair) settle() Report {
	p.Helper()
	var r Report
	for range 3 {
		r = p.agent.look(p.Context())
		if (r.TLS == nil || r.TLS.Error == "") && (r.Auth == nil || r.Auth.Error == "") {
			return r
		}
	}
	p.Fatalf("not up to date: %+v %+v", r.TLS, r.Auth)
	return r
}

func oneUser(password string) credentials.Files {
	return credentials.Files{credentials.UsernameKey: []byte("u"), credentials.PasswordKey: []byte(password)}
}

func list(users string) credentials.Files {
	return credentials.Files{credentials.UsersKey: []byte(users)}
}

func (p *pair) known() string {
	p.memcached.mu.Lock()
	defer p.memcached.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(p.memcached.users)), ",")
}

func TestUsersAreRotated(t *testing.T) {
	p := newPair(t, nil, list("a:1\nb:2"), false)
	if p.memcached.hangUps != 0 {
		t.Errorf("%d signals to a memcached that has just started", p.memcached.hangUps)
	}
	if info, err := os.Stat(filepath.Join(p.agent.Directory, UsersFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, step := range []struct{ users, known string }{
		{"a:1\nb:3", "a 1,b 3"}, // another password of a user who is not the first
		{"a:1", "a 1"},          // one less, which only a refusal can show
		{"a:1\na:4", "a 1,a 4"}, // two passwords for a while
		{"a:4\nb:2\nc:3", "a 4,b 2,c 3"},
	} {
		bring(t, p.agent.Secrets.Auth, list(step.users))
		p.settle()
		if got := p.known(); got != step.known {
			t.Errorf("after %q memcached knows %s", step.users, got)
		}
	}
	before, connections := p.memcached.hangUps, p.memcached.connections
	p.settle()
	if p.memcached.hangUps != before || p.memcached.connections != connections {
		t.Errorf("the steady state costs %d signals and %d connections", p.memcached.hangUps-before, p.memcached.connections-connections)
	}
}

// A user who was removed is not taken for gone until memcached refuses them.
func TestSignalIsRepeated(t *testing.T) {
	p := newPair(t, nil, list("a:1\nb:2"), false)
	p.memcached.deaf = true
	bring(t, p.agent.Secrets.Auth, list("a:1"))
	for range 3 {
		if r := p.agent.look(t.Context()); !strings.Contains(r.Auth.Error, "former user 2 is still let in") {
			t.Errorf("%+v", r.Auth)
		}
	}
	// Not even by an agent that has just started.
	p.agent = &agent{Options: p.agent.Options, hangUp: p.agent.hangUp}
	if r := p.agent.look(t.Context()); !strings.Contains(r.Auth.Error, "former user 2 is still let in") {
		t.Errorf("after a restart of the agent: %+v", r.Auth)
	}
	p.memcached.deaf = false
	p.settle()
	if got := p.known(); got != "a 1" || p.memcached.hangUps < 4 {
		t.Errorf("%s after %d signals", got, p.memcached.hangUps)
	}
}

func TestBrokenUsersChangeNothing(t *testing.T) {
	p := newPair(t, nil, oneUser("good"), false)
	for _, files := range []credentials.Files{{}, oneUser(""), oneUser("x\nadmin:secret"), list("nobody"), list(strings.Repeat("a:1\n", 9))} {
		bring(t, p.agent.Secrets.Auth, files)
		r := p.agent.look(t.Context())
		if !r.Ready || !strings.Contains(r.Auth.Error, "the last good one stays in use: key ") || strings.Contains(r.Auth.Error, "secret") {
			t.Errorf("%q: %+v", files, r.Auth)
		}
		if got := p.known(); got != "u good" {
			t.Errorf("%q: memcached knows %s", files, got)
		}
	}
	bring(t, p.agent.Secrets.Auth, oneUser("better"))
	p.settle()
	if got := p.known(); got != "u better" {
		t.Errorf("memcached knows %s", got)
	}
}

func TestCertificateIsRotated(t *testing.T) {
	for _, mutual := range []bool{false, true} {
		t.Run(fmt.Sprintf("mutual %v", mutual), func(t *testing.T) {
			authority := credentialstest.NewAuthority(t, "first")
			p := newPair(t, authority.Issue(t), oneUser("p"), mutual)
			var last string
			for name, files := range map[string]credentials.Files{
				"same authority":    authority.Issue(t),
				"another authority": credentialstest.NewAuthority(t, "second").Issue(t),
			} {
				bring(t, p.agent.Secrets.TLS, files)
				r := p.settle()
				wanted, err := credentials.ParseTLS(files, mutual)
				if err != nil {
					t.Fatal(err)
				}
				if r.TLS.Serial != serial(wanted.Leaf) || !r.TLS.NotAfter.Equal(wanted.Leaf.NotAfter) || r.TLS.Serial == last || !strings.HasPrefix(r.TLS.Version, "..version") {
					t.Errorf("%s: %+v", name, r.TLS)
				}
				last = r.TLS.Serial
				if p.memcached.certificate.Leaf.SerialNumber.Cmp(wanted.Leaf.SerialNumber) != 0 {
					t.Errorf("%s: memcached serves another", name)
				}
			}
			if left, err := filepath.Glob(filepath.Join(p.agent.Directory, tlsVersions+"*")); err != nil || len(left) != 1 {
				t.Errorf("old keys are left: %q, %v", left, err)
			}
		})
	}
}

// Both change at once, and the agent starts again in between: memcached knows only the
// old authority and the old password.
func TestAgentGoesOnAfterARestart(t *testing.T) {
	p := newPair(t, credentialstest.NewAuthority(t, "first").Issue(t), oneUser("old"), true)
	bring(t, p.agent.Secrets.TLS, credentialstest.NewAuthority(t, "second").Issue(t))
	bring(t, p.agent.Secrets.Auth, oneUser("new"))
	if err := p.agent.publishTLS(); err != nil {
		t.Fatal(err)
	}
	if err := p.agent.publishUsers(); err != nil {
		t.Fatal(err)
	}
	p.agent = &agent{Options: p.agent.Options, hangUp: p.agent.hangUp}
	p.settle()
	if got := p.known(); got != "u new" {
		t.Errorf("memcached knows %s", got)
	}
}

// memcached would be lost with a key that is not that of its certificate.
func TestBrokenCertificateChangesNothing(t *testing.T) {
	authority := credentialstest.NewAuthority(t, "first")
	good, next := authority.Issue(t), authority.Issue(t)
	p := newPair(t, good, nil, true)
	before := p.settle().TLS.Serial
	for _, change := range []credentials.Files{
		{credentials.PrivateKeyKey: next[credentials.PrivateKeyKey]},
		{credentials.CertificateKey: []byte("x")},
		{credentials.AuthorityKey: nil},
		{credentials.AuthorityKey: credentialstest.NewAuthority(t, "second").Issue(t)[credentials.AuthorityKey]},
	} {
		broken := maps.Clone(good)
		maps.Copy(broken, change)
		bring(t, p.agent.Secrets.TLS, broken)
		r := p.agent.look(t.Context())
		if !strings.Contains(r.TLS.Error, "the last good one stays in use: key ") || r.TLS.Serial != before || !r.Ready {
			t.Errorf("%v: %+v", slices.Collect(maps.Keys(change)), r.TLS)
		}
		// A client may give the order, too.
		if err := p.memcached.refresh(); err != nil {
			t.Errorf("%v: memcached cannot serve: %v", slices.Collect(maps.Keys(change)), err)
		}
	}
	bring(t, p.agent.Secrets.TLS, next)
	if after := p.settle().TLS.Serial; after == before {
		t.Error("the next good one is not served")
	}
}

func TestNotReadyWithoutASecret(t *testing.T) {
	a := &agent{Options: Options{Directory: t.TempDir(), Secrets: credentials.Directories{Auth: t.TempDir()}}}
	if r := a.look(t.Context()); r.Ready || !strings.Contains(r.Auth.Error, "key username is missing") {
		t.Errorf("%+v %+v", r, r.Auth)
	}
}

// The whole program: it becomes ready when the Secret comes, tells no secret, and ends.
func TestRun(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	secret := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{
			Secrets: credentials.Directories{Auth: secret}, Directory: t.TempDir(), Memcached: "127.0.0.1:1", Status: address,
		})
	}()
	eventually := func(what string, check func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !check(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	eventually("it does not say that it is not ready", func() bool {
		err := Check(ctx, address)
		return err != nil && strings.Contains(err.Error(), "not ready")
	})
	bring(t, secret, oneUser("confidential"))
	eventually("it does not become ready", func() bool { return Check(ctx, address) == nil })
	response, err := http.Get("http://" + address + "/status")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(said, &r); err != nil || !r.Ready || r.Auth == nil || r.TLS != nil || strings.Contains(string(said), "confidential") {
		t.Errorf("%s, %v", said, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := Run(t.Context(), Options{}); err == nil {
		t.Error("there is nothing to do, and no error")
	}
}
