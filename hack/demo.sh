#!/usr/bin/env bash
# Copyright The web-operators Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The first ten minutes with both operators, step by step, on a real cluster.
# `make demo` calls it with CLUSTER, IMG, IMG_REGISTRY, NODES and SANDBOX_DIR.
set -euo pipefail
cd "$(dirname "$0")/.."
export CLUSTER IMG IMG_REGISTRY

bold="" plain=""
if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; fi
began=$SECONDS
say() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
# run shows a command as one would type it, runs it and says how long it took.
run() {
  local word line=""
  for word in "$@"; do
    case $word in *[\ \"\{\\]*) word="'$word'" ;; esac
    line+=" $word"
  done
  printf '%s$%s%s\n' "$bold" "$line" "$plain"
  local begin=${EPOCHREALTIME/./}
  "$@"
  local tenths=$(((${EPOCHREALTIME/./} - begin) / 100000))
  printf '  # %d.%d s\n' $((tenths / 10)) $((tenths % 10))
}

if [ "$CLUSTER" = sandbox ]; then
  say "A real Kubernetes on this machine"
  run make cluster-up NODES="$NODES"
  make bin/kubectl
  export KUBECONFIG=$SANDBOX_DIR/kubeconfig
  kubectl() { bin/kubectl "$@"; }
  # The image that a sandbox has; elsewhere the operator's own default is pulled.
  MEMCACHED_IMAGE=$(bin/sandbox image memcached)
else
  say "This will touch the cluster of your current context, $(kubectl config current-context)"
  echo "   CRDs         memcacheds.cache.example.com, maintpages.maintpage.example.com"
  echo "   namespaces   memcached-operator-system, maintpage-operator-system, with an operator in each"
  echo "   cluster-wide roles and bindings with these prefixes"
  echo "   resources    Memcacheds memcached-sample and cache, a pod cache-client and a MaintPage example in your"
  echo "                current namespace"
  if [ -n "$IMG_REGISTRY" ]; then echo "   images       pushed to $IMG_REGISTRY"; else echo "   images       loaded with kind"; fi
  if [ -t 0 ]; then read -rp "Enter to go on, Ctrl-C to leave it. " _; fi
fi

say "The operators: one image, each in a namespace of its own"
run make docker-build
run hack/give-image.sh bin/image.tar "$IMG"
run make deploy MEMCACHED_IMAGE="${MEMCACHED_IMAGE:-}"

say "A Memcached of three nodes"
run cat config/samples/cache_v1alpha1_memcached.yaml
run kubectl apply -f config/samples/cache_v1alpha1_memcached.yaml
run kubectl wait --for=condition=Available --timeout=2m memcached/memcached-sample
run kubectl get memcached
run kubectl get deployment,service,pod -l memcached_cr=memcached-sample

say "Five nodes"
run kubectl patch memcached memcached-sample -p '{"spec":{"size": 5}}' --type=merge
run kubectl wait --for=jsonpath='{.status.readyNodes}'=5 --timeout=2m memcached/memcached-sample
run kubectl get memcached memcached-sample -o jsonpath='{.status.nodes}{"\n"}'

say "What the resource says of itself: conditions, and events with the same reasons"
run kubectl get memcached memcached-sample -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'
run kubectl get events --field-selector=involvedObject.kind=Memcached

say "The Service leads to every node"
run kubectl get endpointslices -l kubernetes.io/service-name=memcached-sample

say "No operation throws the cache away: nodes under names that stay, full of items, and a client that reads all the time"
run hack/images.sh
. hack/demo-cache.sh

say "An application behind a maintenance page"
sample=config/samples/maintpage_v1alpha1_maintpage.yaml
if [ "$CLUSTER" != sandbox ] && [ -n "$IMG_REGISTRY" ]; then
  sed "s#quay.io/daein#$IMG_REGISTRY#" "$sample" >bin/maintpage.yaml
  sample=bin/maintpage.yaml
fi
run cat "$sample"
run kubectl apply -f "$sample"
run kubectl wait --for=condition=AppAvailable --for=condition=MaintPageReady --timeout=2m maintpage/example
run kubectl get maintpage

say "The page goes up"
run kubectl patch maintpage example --type=merge -p '{"spec":{"maintpageconfig":{"maintpagetoggle":true}}}'
run kubectl wait --for=jsonpath='{.status.maintpublishstatus}'=Published --timeout=2m maintpage/example
run kubectl get maintpage

say "Done in $((SECONDS - began)) s. The cluster is still up; type this next:"
if [ "$CLUSTER" = sandbox ]; then
  echo "export KUBECONFIG=$KUBECONFIG"
  echo "kubectl get memcached,maintpage,pods      # or bin/kubectl"
  echo "make cluster-down                         # when you have seen enough"
else
  echo "kubectl get memcached,maintpage,pods"
  echo "make undeploy CLUSTER=current             # when you have seen enough"
fi
