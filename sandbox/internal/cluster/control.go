// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// ListenControl opens the socket on which a running cluster takes commands.
func ListenControl(l Layout) (net.Listener, error) {
	var listener net.Listener
	err := l.withSocket(func(path string) (err error) {
		listener, err = net.Listen("unix", path)
		return err
	})
	return listener, err
}

// SetNode brings a node up, or takes it down as a power cut would.
func SetNode(l Layout, n int, verb string) error {
	client := http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (conn net.Conn, err error) {
			err = l.withSocket(func(path string) (err error) {
				conn, err = net.Dial("unix", path)
				return err
			})
			return conn, err
		},
	}}
	resp, err := client.Post(fmt.Sprintf("http://sandbox/nodes/%d/%s", n, verb), "", nil)
	if err != nil {
		return fmt.Errorf("no cluster answers in %s (make cluster-up starts one): %w", l.Dir, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(resp.Body)
		return errors.New(strings.TrimSpace(string(said)))
	}
	return nil
}

// withSocket calls do with a short path to the control socket: the kernel
// takes at most 107 characters, and a clone may be deeper than that.
func (l Layout) withSocket(do func(path string) error) error {
	dir, err := os.Open(l.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(l.socket())))
}
