# web-operators: `make help` lists what there is.
#
# CLUSTER says which cluster is meant: `sandbox`, the one `make cluster-up`
# starts in .cluster, or `current`, your kubeconfig's current context. Unless
# you say so it is the sandbox while that is up, and your own otherwise.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The operators to act on: OPERATOR=memcached, OPERATOR=maintpage, or both.
OPERATOR ?= memcached maintpage
# The image that holds both operators, and where to push it on a cluster of yours.
IMG_REGISTRY ?=
IMG ?= $(or $(IMG_REGISTRY),example.com)/web-operators:dev

include make/*.mk

.PHONY: help
help: ## List every target
	@awk 'BEGIN {FS = ":.*## "} /^[a-zA-Z0-9_\/-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST) | sort
	@echo
	@echo "  variables: OPERATOR=memcached|maintpage (default both)  IMG=$(IMG)  CLUSTER=sandbox|current"
	@echo "             NODES=1  FOCUS=<test name>"
