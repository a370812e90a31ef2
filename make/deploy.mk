# Images, and the operators in a cluster: the names every operator project has.

# The memcached that new clusters run when their resource names no image; empty
# means what config/memcached says.
MEMCACHED_IMAGE ?=

# A container engine that answers, if there is one. Many machines have a docker
# command and no engine behind it.
CONTAINER_ENGINE = $(shell for e in docker podman; do if timeout 5 $$e info >/dev/null 2>&1; then echo $$e; break; fi; done)

# What the image holds: the operators, and what they run beside applications.
PROGRAMS := $(notdir $(wildcard cmd/*))

.PHONY: build
build: ## Build the operators, and what they run, into bin/
	@CGO_ENABLED=0 go build -trimpath -buildvcs=auto -ldflags "-s -w" -o bin/ ./cmd/...

.PHONY: docker-build docker-push
docker-build: build bin/sandbox ## Build the image IMG: with docker or podman when one answers, else without
	@engine="$(CONTAINER_ENGINE)"; \
	if [ -n "$$engine" ]; then $$engine build -t $(IMG) . && $$engine save -o bin/image.tar $(IMG); \
	else bin/sandbox image build -tag $(IMG) -out bin/image.tar \
	  $(foreach p,$(PROGRAMS),/$(p)=bin/$(p)); fi

docker-push: bin/sandbox ## Push IMG: into the sandbox's registry, or with CLUSTER=current to its own
	@if [ $(CLUSTER) = sandbox ]; then bin/sandbox image push bin/image.tar $(IMG); \
	else engine="$(CONTAINER_ENGINE)"; \
	  if [ -n "$$engine" ]; then $$engine push $(IMG); else bin/sandbox image publish bin/image.tar $(IMG); fi; fi
	@echo "pushed $(IMG)"

.PHONY: target
target: $(if $(filter sandbox,$(CLUSTER)),bin/kubectl)
	@if [ $(CLUSTER) = current ]; then \
	  echo "on the cluster of your current context: $$($(KUBECTL) config current-context)"; fi

.PHONY: install uninstall run deploy undeploy
install: target bin/kustomize ## Install the CRDs
	@for o in $(OPERATOR); do bin/kustomize build config/$$o/crd | $(KUBECTL) apply --server-side -f -; done

uninstall: target bin/kustomize ## Remove the CRDs, and with them all their resources
	@for o in $(OPERATOR); do bin/kustomize build config/$$o/crd | $(KUBECTL) delete --ignore-not-found -f -; done

run: target ## Run one operator on this machine against the cluster (OPERATOR=memcached unless you say)
	@OPERATOR_IMAGE=$(IMG) $(if $(MEMCACHED_IMAGE),MEMCACHED_IMAGE=$(MEMCACHED_IMAGE)) go run ./cmd/$(firstword $(OPERATOR))-operator \
	  --leader-elect=false --metrics-bind-address=0 --zap-devel

deploy: target bin/kustomize ## Deploy the operators from IMG and wait until they run
	@for o in $(OPERATOR); do \
	  hack/overlay.sh $$o $(IMG) $(MEMCACHED_IMAGE) | $(KUBECTL) apply --server-side --force-conflicts -f -; done
	@for o in $(OPERATOR); do \
	  $(KUBECTL) rollout status -n $$o-operator-system deployment/$$o-operator-controller-manager --timeout=3m; done

# Resources go first, while their operator still runs: it takes their
# finalizers off. The other way round they would wait for it forever.
undeploy: target bin/kustomize ## Remove the operators, their resources first
	@for o in $(OPERATOR); do \
	  for crd in $$(bin/kustomize build config/$$o/crd | sed -n 's/^  name: //p'); do \
	    if $(KUBECTL) get crd $$crd >/dev/null 2>&1; then $(KUBECTL) delete $$crd --all --all-namespaces --timeout=2m; fi; done; \
	  bin/kustomize build config/$$o | $(KUBECTL) delete --ignore-not-found --timeout=2m -f -; done
