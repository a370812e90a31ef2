#!/usr/bin/env bash
# Copyright The web-operators Authors.
# SPDX-License-Identifier: Apache-2.0
#
# give-image.sh ARCHIVE NAME makes an image usable in the cluster that CLUSTER
# says: the sandbox, or yours by way of IMG_REGISTRY or kind.
set -euo pipefail
cd "$(dirname "$0")/.."
archive=$1 name=$2

if [ "$CLUSTER" = sandbox ]; then
  bin/sandbox image push "$archive" "$name"
elif [ -n "${IMG_REGISTRY:-}" ]; then
  bin/sandbox image publish "$archive" "$name"
elif context=$(kubectl config current-context) && [ "${context#kind-}" != "$context" ]; then
  kind load image-archive "$archive" --name "${context#kind-}"
else
  echo "No way to bring $name into the cluster of context $context." >&2
  echo "Name a registry that it can pull from and you can push to: IMG_REGISTRY=registry.example/team" >&2
  exit 1
fi
echo "$name"
