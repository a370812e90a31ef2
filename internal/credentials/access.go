// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import "github.com/example/web-operators/internal/node"

// Access is what it takes to talk to the nodes of a Memcached.
type Access struct {
	// TLS is nil for nodes that speak plain text.
	TLS *TLS
	// Users are empty for nodes that ask for none.
	Users Users
}

// Client says how to reach the node at an address.
func (a Access) Client(address string) *node.Client {
	c := &node.Client{Address: address}
	if a.TLS != nil {
		c.TLS = a.TLS.ClientConfig()
	}
	if len(a.Users) > 0 {
		c.User, c.Password = a.Users[0].Name, a.Users[0].Password
	}
	return c
}

// Directories are where the Secrets are mounted. An empty one is not.
type Directories struct {
	TLS, Auth string
}

// Read reads both as they are now.
func (d Directories) Read() (Access, error) {
	var a Access
	if d.TLS != "" {
		files, err := ReadFiles(d.TLS, TLSKeys...)
		if err != nil {
			return a, err
		}
		if a.TLS, err = ParseTLS(files, false); err != nil {
			return a, err
		}
	}
	if d.Auth != "" {
		files, err := ReadFiles(d.Auth, UsersKeys...)
		if err != nil {
			return a, err
		}
		if a.Users, err = ParseUsers(files); err != nil {
			return a, err
		}
	}
	return a, nil
}
