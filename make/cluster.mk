# The sandbox: a real Kubernetes on this machine.

NODES ?= 1
SANDBOX_DIR ?= $(CURDIR)/.cluster
export SANDBOX_DIR

CLUSTER_ASKED := $(CLUSTER)
CLUSTER ?= $(if $(wildcard $(SANDBOX_DIR)/kubeconfig),sandbox,current)
ifeq ($(CLUSTER),sandbox)
export KUBECONFIG := $(SANDBOX_DIR)/kubeconfig
KUBECTL := $(CURDIR)/bin/kubectl
else
KUBECTL ?= kubectl
endif

.PHONY: cluster-up cluster-down cluster-status
cluster-up: bin/sandbox ## Start a real Kubernetes on this machine (NODES=1), or find it running
	@bin/sandbox up -nodes $(NODES)
	@bin/sandbox status

cluster-down: bin/sandbox ## End the sandbox and remove everything it left
	@bin/sandbox down

cluster-status: bin/sandbox ## Say whether the sandbox runs, and if it ended, why
	@bin/sandbox status

# `go build` itself knows best whether anything changed.
.PHONY: bin/sandbox
bin/sandbox:
	@cd sandbox && go build -trimpath -o ../bin/sandbox .

# What envtest starts: the sandbox's own etcd and API server.
bin/k8s: bin/sandbox
	@bin/sandbox build
	@mkdir -p bin/k8s
	@for p in etcd kube-apiserver kubectl; do ln -sfn "$$(bin/sandbox path $$p)" bin/k8s/$$p; done

bin/kubectl: bin/sandbox
	@ln -sfn "$$(bin/sandbox path kubectl)" bin/kubectl

.PHONY: bin/k8s bin/kubectl
