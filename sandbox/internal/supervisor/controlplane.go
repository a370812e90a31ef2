// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	_ "embed"
	"time"

	"github.com/example/web-operators/sandbox/internal/cluster"
)

//go:embed config/audit-policy.yaml
var auditPolicy []byte

// startTimeout is ample: an API server takes three seconds on a quiet machine.
const startTimeout = 3 * time.Minute

// startStore starts what holds the cluster's state: etcd and the API server,
// which waits for etcd by itself.
func (s *supervisor) startStore() error {
	if err := s.start("etcd",
		"--data-dir="+s.layout.EtcdData(),
		"--listen-client-urls=http://127.0.0.1:2379",
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380",
		// The data does not outlive the machine's uptime, so no disk is waited for.
		"--unsafe-no-fsync",
	); err != nil {
		return err
	}
	p, err := s.layout.PKI()
	if err != nil {
		return err
	}
	policy := s.layout.Dir + "/audit-policy.yaml"
	if err := writeFile(policy, auditPolicy); err != nil {
		return err
	}
	return s.start("kube-apiserver",
		"--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address="+cluster.Address,
		"--secure-port=6443",
		"--tls-cert-file="+p.Cert("apiserver"),
		"--tls-private-key-file="+p.Key("apiserver"),
		"--client-ca-file="+p.Cert("ca"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--service-cluster-ip-range="+cluster.ServiceCIDR,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+s.layout.ServiceAccountPublicKey(),
		"--service-account-signing-key-file="+s.layout.ServiceAccountKey(),
		// Logs, exec and port-forward: the API server proves itself to the
		// kubelets, verifies them, and finds them by address since no DNS here
		// knows their names.
		"--kubelet-client-certificate="+p.Cert("apiserver-kubelet-client"),
		"--kubelet-client-key="+p.Key("apiserver-kubelet-client"),
		"--kubelet-certificate-authority="+p.Cert("ca"),
		"--kubelet-preferred-address-types=InternalIP",
		// Aggregated APIs and webhooks: the API server has no kube-proxy beside
		// it, so it routes to pods rather than to Service addresses.
		"--requestheader-client-ca-file="+p.Cert("front-proxy-ca"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file="+p.Cert("front-proxy-client"),
		"--proxy-client-key-file="+p.Key("front-proxy-client"),
		"--enable-aggregator-routing=true",
		"--default-not-ready-toleration-seconds=5",
		"--default-unreachable-toleration-seconds=5",
		"--audit-policy-file="+policy,
		"--audit-log-path="+s.layout.Log("audit"),
	)
}

// startControllers starts what acts on the state, once it can be read.
func (s *supervisor) startControllers() error {
	p, err := s.layout.PKI()
	if err != nil {
		return err
	}
	if err := waitForAPI(s.layout); err != nil {
		return err
	}
	kubeconfig := p.Kubeconfig("controller-manager")
	if err := s.start("kube-controller-manager",
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		"--service-account-private-key-file="+s.layout.ServiceAccountKey(),
		"--root-ca-file="+p.Cert("ca"),
		"--cluster-signing-cert-file="+p.Cert("ca"),
		"--cluster-signing-key-file="+p.Key("ca"),
		"--use-service-account-credentials",
		"--leader-elect=false",
		// The default rates make a thousand pods take two minutes.
		"--kube-api-qps=300", "--kube-api-burst=400",
		"--node-monitor-period=1s", "--node-monitor-grace-period=8s",
		"--horizontal-pod-autoscaler-sync-period=5s",
	); err != nil {
		return err
	}
	kubeconfig = p.Kubeconfig("scheduler")
	return s.start("kube-scheduler",
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		"--leader-elect=false",
		"--kube-api-qps=300", "--kube-api-burst=400",
	)
}

// waitForAPI returns when the API server answers.
func waitForAPI(layout cluster.Layout) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return cluster.WaitForAPI(ctx, layout, cluster.Address, cluster.APIPort)
}
