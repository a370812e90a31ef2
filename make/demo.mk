.PHONY: demo
demo: bin/sandbox bin/kustomize ## See both operators work, on a sandbox cluster (CLUSTER=current: on yours)
	@CLUSTER=$(or $(CLUSTER_ASKED),sandbox) IMG=$(IMG) IMG_REGISTRY=$(IMG_REGISTRY) NODES=$(NODES) hack/demo.sh
