// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster is a sandbox cluster seen from the host: its directory, its
// addresses, and how it is started, asked and ended.
package cluster

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/example/web-operators/sandbox/internal/build"
	"github.com/example/web-operators/sandbox/internal/pki"
)

// The addresses are the same in every cluster: each has a network namespace of
// its own with no way out, so they can meet nothing.
const (
	Address     = "172.30.0.1" // of the control plane and the registry
	APIPort     = 6443
	Registry    = Address + ":5000"
	PodCIDR     = "10.244.0.0/16"
	ServiceCIDR = "10.96.0.0/16"
	APIService  = "10.96.0.1" // the first of ServiceCIDR
	DNSService  = "10.96.0.10"
	MaxNodes    = 9
)

// NodeName, NodeAddress and NodePodCIDR belong to the node of a number from 1.
func NodeName(n int) string    { return fmt.Sprintf("node%d", n) }
func NodeAddress(n int) string { return fmt.Sprintf("172.30.0.%d", 10+n) }
func NodePodCIDR(n int) string { return fmt.Sprintf("10.244.%d.0/24", n) }

// A Layout is the directory of a cluster. Everything a cluster writes, but for
// control groups, is in it.
type Layout struct {
	Dir string
}

// At returns the layout of a directory, which need not exist.
func At(dir string) (Layout, error) {
	abs, err := filepath.Abs(dir)
	return Layout{abs}, err
}

func (l Layout) path(parts ...string) string {
	return filepath.Join(append([]string{l.Dir}, parts...)...)
}

// Kubeconfig is what kubectl on the host uses.
func (l Layout) Kubeconfig() string { return l.path("kubeconfig") }

// Logs is the directory of all logs; Log is that of one component.
func (l Layout) Logs() string           { return l.path("logs") }
func (l Layout) Log(name string) string { return l.path("logs", name+".log") }

// PKI is the directory of certificates.
func (l Layout) PKI() (pki.Dir, error) { return pki.New(l.path("pki")) }

// EtcdData, RegistryData and NodeData are what these components store.
func (l Layout) EtcdData() string      { return l.path("etcd") }
func (l Layout) RegistryData() string  { return l.path("registry") }
func (l Layout) NodeData(n int) string { return l.path(NodeName(n)) }

// ServiceAccountKey signs service account tokens.
func (l Layout) ServiceAccountKey() string { return l.path("pki", "service-accounts.key") }

// ServiceAccountPublicKey verifies them.
func (l Layout) ServiceAccountPublicKey() string { return l.path("pki", "service-accounts.pub") }

func (l Layout) socket() string { return l.path("control.sock") }
func (l Layout) pid() string    { return l.path("supervisor.pid") }
func (l Layout) spec() string   { return l.path("spec.json") }

// CgroupGroup is the cluster's control group: two clusters on one machine must
// not share one, so it carries the directory in its name.
func (l Layout) CgroupGroup() string {
	return fmt.Sprintf("web-operators-%x", sha256.Sum256([]byte(l.Dir)))[:22]
}

// A Spec is what a cluster is started with.
type Spec struct {
	Nodes    int            `json:"nodes"`
	Programs build.Programs `json:"programs"`
	// APIPort and RegistryPort are where these answer on the host's loopback.
	APIPort      int `json:"apiPort"`
	RegistryPort int `json:"registryPort"`
}

// ReadSpec reads what the cluster in this directory was started with.
func (l Layout) ReadSpec() (Spec, error) {
	var s Spec
	data, err := os.ReadFile(l.spec())
	if err != nil {
		return s, err
	}
	err = json.Unmarshal(data, &s)
	return s, err
}

func (l Layout) writeSpec(s Spec) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(l.spec(), data, 0o644)
}
