#!/usr/bin/env bash
# Copyright The web-operators Authors.
# SPDX-License-Identifier: Apache-2.0
#
# overlay.sh OPERATOR IMAGE [MEMCACHED_IMAGE] prints an operator's manifests
# with the image to run. The overlay is made in bin/, so that deploying does
# not change files under version control.
set -euo pipefail
cd "$(dirname "$0")/.."
operator=$1 image=$2 memcached=${3:-}

dir=bin/overlay/$operator
rm -rf "$dir" && mkdir -p "$dir" && cd "$dir"
kustomize=../../kustomize
$kustomize create --resources "../../../config/$operator"
$kustomize edit set image "controller=$image"
cp ../../../config/manager/operator_image.yaml .
printf 'replacements:\n- path: operator_image.yaml\n' >>kustomization.yaml
if [ -n "$memcached" ] && [ "$operator" = memcached ]; then
  $kustomize edit add patch --kind Deployment --patch "
apiVersion: apps/v1
kind: Deployment
metadata: {name: any}
spec:
  template:
    spec:
      containers:
      - name: manager
        env: [{name: MEMCACHED_IMAGE, value: \"$memcached\"}]"
fi
$kustomize build .
