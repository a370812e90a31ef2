// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/example/web-operators/internal/credentials"
)

// Names in the directory that memcached reads. What ends in loaded is what memcached was
// last seen to have.
const (
	// UsersFile is for memcached's option auth-file.
	UsersFile   = "users"
	usersLoaded = "users.loaded"
	// TLSDirectory holds tls.crt, tls.key and ca.crt. It is a link, so that all of them
	// change at once.
	TLSDirectory = "tls"
	tlsLoaded    = "tls.loaded"
	// tlsVersions begins the names of the directories that the links lead to.
	tlsVersions = "tls-"
)

// publishUsers writes the users down for memcached, if they can be used.
func (a *agent) publishUsers() error {
	files, err := credentials.ReadFiles(a.Secrets.Auth, credentials.UsersKeys...)
	if err != nil {
		return err
	}
	users, err := credentials.ParseUsers(files)
	if err != nil {
		return fmt.Errorf("the Secret of users cannot be used, the last good one stays in use: %w", err)
	}
	return replace(filepath.Join(a.Directory, UsersFile), users.File())
}

// wantedUsers are those that memcached is to have, loadedUsers those it had last.
func (a *agent) wantedUsers() credentials.Users { return readUsers(a.Directory, UsersFile) }
func (a *agent) loadedUsers() credentials.Users { return readUsers(a.Directory, usersLoaded) }

func readUsers(directory, name string) credentials.Users {
	data, err := os.ReadFile(filepath.Join(directory, name))
	if err != nil {
		return nil
	}
	users, err := credentials.ParseUsers(credentials.Files{credentials.UsersKey: data})
	if err != nil {
		return nil // not the agent's own work
	}
	return users
}

// publishTLS writes the certificate down for memcached, if it can be used.
func (a *agent) publishTLS() error {
	files, err := credentials.ReadFiles(a.Secrets.TLS, credentials.TLSKeys...)
	if err != nil {
		return err
	}
	name := tlsVersions + digest(files)
	if target, err := os.Readlink(filepath.Join(a.Directory, TLSDirectory)); err == nil && target == name {
		return nil
	}
	t, err := credentials.ParseTLS(files, a.Mutual)
	if err != nil {
		return fmt.Errorf("the Secret of the certificate cannot be used, the last good one stays in use: %w", err)
	}
	directory := filepath.Join(a.Directory, name)
	if err := os.Mkdir(directory, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for key, data := range t.Files {
		if err := replace(filepath.Join(directory, key), data); err != nil {
			return err
		}
	}
	return link(a.Directory, TLSDirectory, name)
}

// digest names a version. It takes the private key, which nobody can guess, and so says
// nothing about it.
func digest(files credentials.Files) string {
	hash := sha256.New()
	for _, key := range credentials.TLSKeys {
		fmt.Fprintf(hash, "%d %s\n", len(files[key]), files[key])
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:8])
}

// wantedTLS is what memcached is to have, loadedTLS what it had last.
func (a *agent) wantedTLS() *credentials.TLS { return a.readTLS(TLSDirectory) }
func (a *agent) loadedTLS() *credentials.TLS { return a.readTLS(tlsLoaded) }

// readTLS remembers what it has read: it is asked every second, and keys take a while.
func (a *agent) readTLS(name string) *credentials.TLS {
	target, err := os.Readlink(filepath.Join(a.Directory, name))
	if err != nil {
		return nil
	}
	if t := a.read[target]; t != nil {
		return t
	}
	files, err := credentials.ReadFiles(filepath.Join(a.Directory, name), credentials.TLSKeys...)
	if err != nil {
		return nil
	}
	t, err := credentials.ParseTLS(files, a.Mutual)
	if err != nil {
		return nil
	}
	if a.read == nil {
		a.read = map[string]*credentials.TLS{}
	}
	a.read[target] = t
	return t
}

// forget removes versions that nothing leads to any more.
func (a *agent) forget() error {
	all, err := filepath.Glob(filepath.Join(a.Directory, tlsVersions+"*"))
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, name := range []string{TLSDirectory, tlsLoaded} {
		if target, err := os.Readlink(filepath.Join(a.Directory, name)); err == nil {
			kept[target] = true
		}
	}
	var failed []error
	for _, directory := range all {
		if !kept[filepath.Base(directory)] {
			delete(a.read, filepath.Base(directory))
			failed = append(failed, os.RemoveAll(directory))
		}
	}
	return errors.Join(failed...)
}

// replace writes a file that is never seen half written, if it is another than before.
func replace(name string, data []byte) error {
	if before, err := os.ReadFile(name); err == nil && bytes.Equal(before, data) {
		return nil
	}
	if err := os.WriteFile(name+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// link makes name lead to target, which is never seen missing.
func link(directory, name, target string) error {
	fresh := filepath.Join(directory, name+".new")
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(directory, name))
}

// version is the kubelet's name for what is mounted in a directory, and no secret.
func version(directory string) string {
	target, err := os.Readlink(filepath.Join(directory, "..data"))
	if err != nil {
		return ""
	}
	return target
}

// broughtAt is when the kubelet mounted it.
func broughtAt(directory string) time.Time {
	info, err := os.Stat(filepath.Join(directory, "..data"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
