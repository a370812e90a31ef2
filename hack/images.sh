#!/usr/bin/env bash
# Copyright The web-operators Authors.
# SPDX-License-Identifier: Apache-2.0
#
# images.sh gives the cluster the two pages that the MaintPage walkthrough
# switches between, clients to watch them with, and a client of memcached. Into
# the sandbox's registry they go under the names that the walkthrough writes;
# into a registry of yours (IMG_REGISTRY) or a kind cluster under names below that.
set -euo pipefail
cd "$(dirname "$0")/.."

CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/images/ ./test/images/...

give() { # give NAME PROGRAM SOURCE
  bin/sandbox image build -tag "$1" -out "bin/images/$2.tar" -entrypoint "/$2" "/$2=bin/images/$3" >/dev/null
  hack/give-image.sh "bin/images/$2.tar" "$1"
}
registry=${IMG_REGISTRY:-quay.io/daein}
give "$registry/prodpage:latest" prodpage page
give "$registry/maintpage:latest" maintpage page
give "$registry/get:latest" get get
give "$registry/visitor:latest" visitor visitor
give "$registry/cacheclient:latest" cacheclient cacheclient
