# shellcheck shell=bash
# Copyright The web-operators Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The part of demo.sh that changes a full cache and counts what is left of it.
items=60000
namespace=$(kubectl config view --minify -o 'jsonpath={..namespace}')
namespace=${namespace:-default}

cat >bin/cache.yaml <<YAML
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec:
  workload: StatefulSet
  size: 3
  memory: 64Mi
  warmup: {hitRatePercent: 50}
YAML
run cat bin/cache.yaml
run kubectl apply -f bin/cache.yaml
run kubectl wait --for=condition=Available --timeout=2m memcached/cache

nodes=$(kubectl get memcached cache -o jsonpath='{.status.endpoints.nodes[*]}')
kubectl apply -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: cache-client}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: cacheclient
    image: ${IMG_REGISTRY:-quay.io/daein}/cacheclient:latest
    args: [load, "${nodes// /,}", "$items", "200", "600", "1"]
    readinessProbe: {httpGet: {path: /report, port: 9090}, periodSeconds: 1}
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
YAML
run kubectl wait --for=condition=Ready --timeout=2m pod/cache-client

# ask asks the client, see test/images/cacheclient/control.go.
ask() { kubectl get --raw "/api/v1/namespaces/$namespace/pods/cache-client:9090/proxy/$1"; }
# number reads a number, or the sum of a list of them, from what the client said.
number() {
  local list
  list=$(sed -E "s/.*\"$1\":\[?([0-9]+(,[0-9]+)*).*/\1/")
  echo $((${list//,/+}))
}
# count reads every item. A node that was replaced has a new address, which takes a moment to be found.
count() {
  local said
  until said=$(ask count 2>/dev/null); do sleep 0.5; done
  number items <<<"\"items\":$said"
}
pods() { kubectl get pods -l memcached_cr=cache -o jsonpath='{range .items[*]}{.metadata.uid} {.status.containerStatuses[0].restartCount}{"\n"}{end}' | sort; }

rows=()
measure() { # measure WHAT SPEC
  local before after said old began
  before=$(count) old=$(pods)
  ask reset >/dev/null
  began=${EPOCHREALTIME/./}
  run kubectl patch memcached cache --type=merge -p "{\"spec\":$2}"
  run kubectl wait --for=condition=Available --timeout=5m memcached/cache
  local tenths=$(((${EPOCHREALTIME/./} - began) / 100000))
  said=$(ask report)
  after=$(count)
  rows+=("$(printf '| %-20s | %2d.%d s | %7d | %7d | %7d | %9d | %9d | %8d |' "$1" $((tenths / 10)) $((tenths % 10)) \
    "$before" "$(number lowestItems <<<"$said")" "$after" "$(comm -13 <(echo "$old") <(pods) | wc -l)" "$(number lowestUp <<<"$said")" "$(number errors <<<"$said")")")
}
measure "memory 64Mi to 128Mi" '{"memory":"128Mi"}'
measure "threads 4 to 8" '{"threads":8}'
measure "memory 128Mi to 16Mi" '{"memory":"16Mi"}'

run kubectl get events --field-selector=involvedObject.kind=Memcached,involvedObject.name=cache,reason=Updating
say "What each change cost: items in the cache"
echo "| change               |   took |  before | fewest* |   after | restarted | nodes up* | failed** |"
echo "|----------------------|--------|---------|---------|---------|-----------|-----------|----------|"
printf '%s\n' "${rows[@]}"
echo "*  on the nodes that were up, and how many were, at the worst moment; the client stores again what it misses"
echo "** requests; those to a node that restarts fail until it is back"
kubectl delete pod cache-client >/dev/null
