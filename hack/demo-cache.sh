# shellcheck shell=bash
# Copyright The web-operators Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The part of demo.sh that changes a full cache and counts what is left of it.
items=60000
namespace=$(kubectl config view --minify -o 'jsonpath={..namespace}')
namespace=${namespace:-default}

# certificate makes one that is its own authority, with the tool that comes with Go.
certificate() {
  (cd bin && go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" -host cache -ca -ecdsa-curve P256 -duration 24h 2>/dev/null)
  kubectl create secret generic cache-tls --dry-run=client -o yaml \
    --from-file=tls.crt=bin/cert.pem --from-file=tls.key=bin/key.pem --from-file=ca.crt=bin/cert.pem >bin/tls.yaml
}
password() { # password PASSWORD
  kubectl create secret generic cache-users --dry-run=client -o yaml --from-literal=username=shop --from-literal="password=$1" >bin/users.yaml
}
certificate
password first
run kubectl apply -f bin/tls.yaml -f bin/users.yaml

cat >bin/cache.yaml <<YAML
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec:
  workload: StatefulSet
  size: 3
  memory: 64Mi
  warmup: {hitRatePercent: 50}
  tls: {secretName: cache-tls}
  auth: {secretName: cache-users}
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
    volumeMounts:
    - {name: tls, mountPath: /secrets/tls, readOnly: true}
    - {name: auth, mountPath: /secrets/auth, readOnly: true}
  volumes:
  - {name: tls, secret: {secretName: cache-tls}}
  - {name: auth, secret: {secretName: cache-users}}
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
measure() { # measure WHAT COMMAND…
  local what=$1 before after said old began
  shift
  before=$(count) old=$(pods)
  ask reset >/dev/null
  began=${EPOCHREALTIME/./}
  "$@"
  local tenths=$(((${EPOCHREALTIME/./} - began) / 100000))
  said=$(ask report)
  after=$(count)
  rows+=("$(printf '| %-20s | %2d.%d s | %7d | %7d | %7d | %9d | %9d | %8d |' "$what" $((tenths / 10)) $((tenths % 10)) \
    "$before" "$(number lowestItems <<<"$said")" "$after" "$(comm -13 <(echo "$old") <(pods) | wc -l)" "$(number lowestUp <<<"$said")" "$(number errors <<<"$said")")")
}
change() { # change SPEC
  run kubectl patch memcached cache --type=merge -p "{\"spec\":$1}"
  run kubectl wait --for=condition=Available --timeout=5m memcached/cache
}
# rotate gives a Secret new contents and waits until every node has them. A kubelet looks at Secrets every minute or
# so; a pod that changes makes it look at once.
rotate() { # rotate FILE WORDS
  run kubectl apply -f "$1"
  run kubectl annotate pod cache-client cache-0 cache-1 cache-2 "example.com/look=$EPOCHSECONDS" --overwrite
  local node
  for node in 0 1 2; do
    until [ "$(kubectl logs "cache-$node" -c agent | grep -c "$2")" -ge 2 ]; do sleep 0.2; done
  done
  run kubectl logs cache-0 -c agent --tail=1
}
operators() {
  run kubectl delete pod -n memcached-operator-system -l control-plane=controller-manager
  run kubectl rollout status -n memcached-operator-system deployment/memcached-operator-controller-manager --timeout=2m
}
measure "memory 64Mi to 128Mi" change '{"memory":"128Mi"}'
certificate
measure "certificate rotated" rotate bin/tls.yaml "serves the certificate"
password second
measure "password rotated" rotate bin/users.yaml "has the users"
measure "operator restarted" operators
measure "threads 4 to 8" change '{"threads":8}'
measure "memory 128Mi to 16Mi" change '{"memory":"16Mi"}'

run kubectl get events --field-selector=involvedObject.kind=Memcached,involvedObject.name=cache,reason=Updating
say "What each change cost: items in the cache"
echo "| change               |   took |  before | fewest* |   after | restarted | nodes up* | failed** |"
echo "|----------------------|--------|---------|---------|---------|-----------|-----------|----------|"
printf '%s\n' "${rows[@]}"
echo "*  on the nodes that were up, and how many were, at the worst moment; the client stores again what it misses"
echo "** requests; those to a node that restarts fail until it is back"
kubectl delete pod cache-client >/dev/null
