// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/example/web-operators/sandbox/internal/cluster"
)

const bridgeName = "br0"

// makeBridge makes the network that joins the nodes, with the control plane's
// address on it.
func makeBridge() error {
	if err := setUp("lo"); err != nil {
		return err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("adding the bridge: %w", err)
	}
	return setAddress(bridgeName, cluster.Address)
}

// plugIn connects a node's network namespace to the bridge, as eth0 inside it.
func plugIn(n, pid int) error {
	bridge, err := netlink.LinkByName(bridgeName)
	if err != nil {
		return err
	}
	veth := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: cluster.NodeName(n), MasterIndex: bridge.Attrs().Index},
		PeerName:      "eth0",
		PeerNamespace: netlink.NsPid(pid),
	}
	// The kernel takes its time to remove the cable of a node that crashed.
	if old, err := netlink.LinkByName(veth.Name); err == nil {
		if err := netlink.LinkDel(old); err != nil && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("disconnecting the old %s: %w", veth.Name, err)
		}
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("connecting %s: %w", veth.Name, err)
	}
	if err := setUp(veth.Name); err != nil {
		return err
	}
	return routePods(n)
}

// setUpNode gives a node its address and the way to everybody else's pods.
// kube-proxy needs a default route: without one the kernel refuses a Service's
// address as unreachable before its rules are looked at.
func setUpNode(n int) error {
	if err := setUp("lo"); err != nil {
		return err
	}
	if err := setAddress("eth0", cluster.NodeAddress(n)); err != nil {
		return err
	}
	if err := netlink.RouteAdd(&netlink.Route{Gw: net.ParseIP(cluster.Address)}); err != nil {
		return fmt.Errorf("adding the default route: %w", err)
	}
	for other := 1; other <= cluster.MaxNodes; other++ {
		if other == n {
			continue
		}
		if err := routePods(other); err != nil {
			return err
		}
	}
	return nil
}

// routePods sends packets for a node's pods to that node.
func routePods(n int) error {
	_, pods, err := net.ParseCIDR(cluster.NodePodCIDR(n))
	if err != nil {
		return err
	}
	if err := netlink.RouteReplace(&netlink.Route{Dst: pods, Gw: net.ParseIP(cluster.NodeAddress(n))}); err != nil {
		return fmt.Errorf("routing to the pods of %s: %w", cluster.NodeName(n), err)
	}
	return nil
}

func setAddress(link, address string) error {
	l, err := netlink.LinkByName(link)
	if err != nil {
		return err
	}
	ip := &net.IPNet{IP: net.ParseIP(address), Mask: net.CIDRMask(24, 32)}
	if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: ip}); err != nil {
		return fmt.Errorf("giving %s the address %s: %w", link, address, err)
	}
	return netlink.LinkSetUp(l)
}

func setUp(link string) error {
	l, err := netlink.LinkByName(link)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(l)
}
