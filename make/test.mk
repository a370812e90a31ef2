# Tests. `make test` is all of them, on a machine that has nothing but Go and npm.

GO_TEST ?= go test -trimpath
# The end-to-end cluster is not the one you may be using.
E2E_DIR := $(CURDIR)/.cluster-e2e
FOCUS ?=

.PHONY: test
test: ## Everything: generated files, linters, unit, API, browser, sandbox and end-to-end tests
	@hack/parts.sh verify-generated vet lint test-unit test-browser test-sandbox e2e

.PHONY: test-unit test-sandbox e2e soak
test-unit: bin/k8s ## Unit tests, and those against a real API server
	@$(GO_TEST) ./api/... ./cmd/... ./internal/... ./test/images/...
	@cd sandbox && $(GO_TEST) ./internal/...
	@cd test/peers && $(GO_TEST) ./...

test-sandbox: bin/sandbox ## The sandbox's own tests: clusters that start, crash and end
	@bin/sandbox build
	@cd sandbox && $(GO_TEST) -count=1 .

e2e: bin/sandbox bin/kubectl bin/kustomize ## End-to-end tests on a cluster of their own (FOCUS=<test name>)
	@bin/sandbox -dir $(E2E_DIR) run -nodes 2 -- \
	  $(GO_TEST) -count=1 -v -timeout 30m ./test/e2e/... $(if $(FOCUS),-run '$(FOCUS)')

soak: bin/sandbox bin/kubectl bin/kustomize ## The long versions of the tests
	@cd sandbox && $(GO_TEST) -count=5 -timeout 30m .
	@bin/sandbox -dir $(E2E_DIR) run -nodes 2 -- $(GO_TEST) -count=5 -timeout 60m ./test/e2e/...
	@SWITCHES=200 bin/sandbox -dir $(E2E_DIR) run -nodes 2 -- \
	  $(GO_TEST) -count=1 -v -timeout 60m ./test/e2e/... -run '^TestMaintPage(Switch|Control)$$'
