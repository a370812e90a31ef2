// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodelist is the list of a cluster's nodes: what the operator writes and the
// companion programs tell.
package nodelist

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
)

// Names of the files that hold the list in a companion's pod.
const (
	// File is the key of the ConfigMap, which every pod starts with.
	File = "nodes.json"
	// AnnotationFile is the pod's own annotation, through which news come at once.
	AnnotationFile = "annotation.json"
)

// Annotation of the companions' pods holds the list.
const Annotation = "cache.example.com/nodes"

// Node is one memcached node.
type Node struct {
	Name string `json:"name"`
	// Host is the name that stays when the node is replaced, or its address if it has none.
	Host string `json:"host"`
	IP   string `json:"ip"`
	Port int32  `json:"port"`
}

// List is all nodes, in the order in which clients spread their keys over them.
type List struct {
	// Version is raised by one with every change. It is 0 if there never was a list.
	Version int64  `json:"version"`
	Nodes   []Node `json:"nodes"`
}

// With is the list with other nodes, and the next version if they are others.
func (l List) With(nodes []Node) List {
	if l.Version > 0 && slices.Equal(l.Nodes, nodes) {
		return l
	}
	return List{Version: l.Version + 1, Nodes: nodes}
}

// String is the list as Parse reads it.
func (l List) String() string {
	if l.Nodes == nil {
		l.Nodes = []Node{}
	}
	data, _ := json.Marshal(l) // there is nothing in it that JSON cannot say
	return string(data)
}

// Names are parts of lines of a text protocol: a space, a bar or a line break in one
// would be a node of somebody's choice.
var name = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.:-]*[A-Za-z0-9])?$`)

// Parse reads a list and refuses one that cannot be told to clients.
func Parse(data []byte) (List, error) {
	var l List
	if err := json.Unmarshal(data, &l); err != nil {
		return List{}, err
	}
	if l.Version < 1 {
		return List{}, errors.New("a list without a version")
	}
	for _, n := range l.Nodes {
		ip, err := netip.ParseAddr(n.IP)
		switch {
		case err != nil || ip.Zone() != "":
			return List{}, fmt.Errorf("node %q has the address %q", n.Name, n.IP)
		case !name.MatchString(n.Name) || !name.MatchString(n.Host):
			return List{}, fmt.Errorf("node %q has the host %q", n.Name, n.Host)
		case n.Port < 1 || n.Port > 65535:
			return List{}, fmt.Errorf("node %q has the port %d", n.Name, n.Port)
		}
	}
	return l, nil
}

// Newest is the list with the highest version among those that can be read.
func Newest(copies ...string) List {
	var newest List
	for _, c := range copies {
		if l, err := Parse([]byte(c)); err == nil && l.Version > newest.Version {
			newest = l
		}
	}
	return newest
}
