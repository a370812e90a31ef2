# What is generated from the types in api/ and the markers in internal/, the
# tools that do it, and the checks of the sources.

# Every path that is generated, none of which is edited by hand.
GENERATED := $(foreach package,$(wildcard api/*/v1alpha1),$(package)/applyconfiguration $(package)/zz_generated.deepcopy.go) \
	config/crd/bases config/memcached/role.yaml config/maintpage/role.yaml docs/reference.md

# The modules of this repository, each of which vet, lint and fmt enter.
MODULES := . sandbox test/browser test/peers

# The tools, each at the version that its module says. Building them needs
# nothing but Go, and happens when the module changes.
bin/controller-gen bin/kustomize bin/crd-ref-docs: tools/go.mod tools/go.sum
bin/controller-gen: TOOL := sigs.k8s.io/controller-tools/cmd/controller-gen
bin/kustomize: TOOL := sigs.k8s.io/kustomize/kustomize/v5
bin/crd-ref-docs: TOOL := github.com/elastic/crd-ref-docs
bin/golangci-lint: tools/lint/go.mod tools/lint/go.sum
bin/golangci-lint: TOOL := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
bin/controller-gen bin/kustomize bin/crd-ref-docs bin/golangci-lint:
	@echo "building $@"
	@mkdir -p bin
	@cd $(<D) && go build -trimpath -o $(CURDIR)/$@ $(TOOL)
	@touch $@

# Files of types that are gone would stay, so the apply-configurations go first.
.PHONY: generate
generate: bin/controller-gen ## Generate deepcopy methods and apply-configurations from api/
	@rm -rf api/*/v1alpha1/applyconfiguration
	@bin/controller-gen object:headerFile=hack/boilerplate.go.txt \
	  applyconfiguration:headerFile=hack/boilerplate.go.txt paths=./api/...

# Each operator gets a role of its own: one for both would give each the
# other's rights.
.PHONY: manifests
manifests: bin/controller-gen ## Generate the CRDs, and the operators' roles from their RBAC markers
	@bin/controller-gen crd paths=./api/... output:crd:artifacts:config=config/crd/bases
	@for o in $(notdir $(wildcard internal/memcached internal/maintpage)); do \
	  bin/controller-gen rbac:roleName=manager-role paths=./internal/$$o/... output:rbac:artifacts:config=config/$$o; done

.PHONY: docs-reference
docs-reference: bin/crd-ref-docs ## Generate docs/reference.md from api/
	@bin/crd-ref-docs --source-path=api --config=hack/crd-ref-docs/config.yaml --templates-dir=hack/crd-ref-docs/templates \
	  --renderer=markdown --output-path=docs/reference.md --log-level=ERROR

.PHONY: verify-generated
verify-generated: bin/controller-gen bin/crd-ref-docs ## Fail when a generated file is not what would be generated now
	@hack/verify-generated.sh "$(MAKE) generate manifests docs-reference" $(GENERATED)

.PHONY: fmt vet lint
fmt: bin/golangci-lint ## Format the Go sources
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/bin/golangci-lint fmt --config=$(CURDIR)/.golangci.yml); done

vet: ## go vet, in every module
	@for m in $(MODULES); do (cd $$m && go vet -trimpath ./...); done

lint: bin/golangci-lint ## golangci-lint, in every module
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/bin/golangci-lint run --config=$(CURDIR)/.golangci.yml ./...); done
