#!/usr/bin/env bash
# Runs a Kubernetes cluster on this machine, as processes in separate network namespaces: one for the API server and the
# rest of the control plane, in which tests run, and one for each of two nodes with a kubelet and a containerd.
#
#   deploy/k8s/tests/cluster.sh up IMAGE…      (images of the local Docker, which nodes are given)
#   deploy/k8s/tests/cluster.sh down           (leaves logs and what was built, and nothing that runs or is mounted)
#   deploy/k8s/tests/cluster.sh at COMMAND…    (where the API server is; its kubeconfig is in KUBECONFIG)
#   deploy/k8s/tests/cluster.sh start-node N | stop-node N    (as a machine that is switched on, and off)
#
# Run it as root. The cluster cannot reach anything outside of it. State is in target/kubernetes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
parts=$here/../cluster
mkdir -p "$here/../../../target/kubernetes"
target=$(cd "$here/../../../target/kubernetes" && pwd)
bin=$target/bin
state=$target/state
credentials=$state/credentials
hub=burst-k8s
nodes=(1 2)
PATH=$bin:$PATH:/usr/sbin:/sbin
# Machine-wide settings that a kubelet changes.
settings=(vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys
    kernel.keys.root_maxbytes)

complain() {
    echo "deploy/k8s/tests/cluster.sh: $1" >&2
    exit 1
}

# until_so SECONDS COMMAND…: repeats a command until it succeeds, or fails after this time.
until_so() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.2
    done
}

at() { KUBECONFIG=$credentials/admin.kubeconfig nsenter --net="/run/netns/$hub" -- "$@"; }

# started NAME COMMAND…: starts a command in the background, and records its process and its log under the name.
started() {
    local name=$1
    shift
    setsid "$@" >"$target/logs/$name.log" 2>&1 </dev/null &
    echo $! >"$state/$name.pid"
}

# ended NAME NAMESPACE: kills the process immediately, if it is still the one that was started.
ended() {
    local pid
    [ -f "$state/$1.pid" ] || return 0
    pid=$(cat "$state/$1.pid")
    # Process ids are reused, so a process is identified by its network namespace.
    if [ "$(readlink "/proc/$pid/ns/net" 2>/dev/null)" = "net:[$(stat -Lc %i "/run/netns/$2" 2>/dev/null)]" ]; then
        kill -KILL "$pid" 2>/dev/null || true
        until_so 30 test ! -e "/proc/$pid" || complain "$1 does not end"
    fi
    rm -f "$state/$1.pid"
}

network() {
    ip netns add $hub
    ip -n $hub link set lo up
    ip -n $hub link add nodes type bridge
    ip -n $hub address add 10.213.0.1/24 dev nodes
    ip -n $hub link set nodes up
    # Services are reached from here through a node, as its proxy handles their addresses.
    for n in "${nodes[@]}"; do
        ip netns add "$hub-node-$n"
        ip -n "$hub-node-$n" link set lo up
        ip -n $hub link add "node-$n" type veth peer name eth0 netns "$hub-node-$n"
        ip -n $hub link set "node-$n" master nodes up
        ip -n "$hub-node-$n" address add "10.213.0.1$n/24" dev eth0
        ip -n "$hub-node-$n" link set eth0 up
        ip -n "$hub-node-$n" route add default via 10.213.0.1
        for other in "${nodes[@]}"; do
            [ "$other" = "$n" ] || ip -n "$hub-node-$n" route add "10.214.$other.0/24" via "10.213.0.1$other"
        done
        ip -n $hub route add "10.214.$n.0/24" via "10.213.0.1$n"
    done
    ip -n $hub route add 10.215.0.0/24 via "10.213.0.1${nodes[0]}"
}

start_node() {
    started "node-$1" nsenter --net="/run/netns/$hub-node-$1" -- \
        unshare --mount --uts --ipc --pid --fork --kill-child --mount-proc -- \
        "$parts/node.sh" "node-$1" "10.213.0.1$1" "10.214.$1.0/24" "$state/node-$1" "$bin" "$credentials"
}

# Everything that ran on the node has ended with its first process, and its mounts are gone.
stop_node() {
    ended "node-$1" "$hub-node-$1"
    cp -r "$state/node-$1/logs/." "$target/logs/node-$1/" 2>/dev/null || true
    # A machine that is switched off loses its pods' networks.
    rm -rf "$state/node-$1/var" "$state/node-$1/work"
    for hierarchy in /sys/fs/cgroup/*/burst-k8s/"node-$1"; do
        [ -d "$hierarchy" ] || continue
        until_so 30 eval "find '$hierarchy' -depth -type d -exec rmdir {} + ; [ ! -d '$hierarchy' ]" ||
            complain "$hierarchy is still in use"
    done
    for link in $(ip -n "$hub-node-$1" -o link show type veth 2>/dev/null | awk -F '[ :@]+' '$2 ~ /^veth/ {print $2}'); do
        ip -n "$hub-node-$1" link delete "$link" 2>/dev/null || true
    done
}

up() {
    [ "$(id -u)" = 0 ] || complain "namespaces are root's to make"
    [ ! -e "$state" ] || complain "there is one already: $0 down"
    mkdir -p "$state/images" "$target/logs"
    for n in "${nodes[@]}"; do mkdir -p "$target/logs/node-$n"; done
    for setting in "${settings[@]}"; do
        echo "$setting=$(sysctl -n "$setting")"
    done >"$state/settings"
    for image in burst.test/pause:1 burst.test/coredns:1 "$@"; do
        docker save "$image" >"$state/images/$(basename "${image%:*}").tar"
    done
    "$parts/credentials.sh" "$credentials" 10.213.0.1 10.215.0.1 node-{1,2}
    network
    for n in "${nodes[@]}"; do start_node "$n"; done

    started etcd nsenter --net="/run/netns/$hub" -- etcd --data-dir "$state/etcd" --log-level warn
    started apiserver nsenter --net="/run/netns/$hub" -- kube-apiserver --etcd-servers http://127.0.0.1:2379 \
        --bind-address 10.213.0.1 --advertise-address 10.213.0.1 --service-cluster-ip-range 10.215.0.0/24 \
        --client-ca-file "$credentials/ca.crt" --authorization-mode Node,RBAC \
        --tls-cert-file "$credentials/apiserver.crt" --tls-private-key-file "$credentials/apiserver.key" \
        --kubelet-client-certificate "$credentials/admin.crt" --kubelet-client-key "$credentials/admin.key" --kubelet-preferred-address-types InternalIP \
        --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$credentials/tokens.pub" \
        --service-account-signing-key-file "$credentials/tokens.key" --enable-admission-plugins NodeRestriction \
        --default-not-ready-toleration-seconds 10 --default-unreachable-toleration-seconds 10
    until_so 60 at kubectl get --raw /readyz || complain "the API server does not answer: $target/logs/apiserver.log"
    started controller-manager nsenter --net="/run/netns/$hub" -- kube-controller-manager \
        --kubeconfig "$credentials/controller-manager.kubeconfig" --use-service-account-credentials \
        --service-account-private-key-file "$credentials/tokens.key" --root-ca-file "$credentials/ca.crt" \
        --node-monitor-grace-period 20s --leader-elect=false
    started scheduler nsenter --net="/run/netns/$hub" -- kube-scheduler \
        --kubeconfig "$credentials/scheduler.kubeconfig" --leader-elect=false
    at kubectl create clusterrolebinding proxy --clusterrole system:node-proxier --user system:kube-proxy >/dev/null
    at kubectl apply --filename "$parts/parts.yaml" >/dev/null
    for n in "${nodes[@]}"; do
        until_so 180 at kubectl wait --for=condition=Ready "node/node-$n" --timeout 1s ||
            complain "node-$n does not become ready: $state/node-$n/logs"
    done
    until_so 60 at kubectl --namespace kube-system rollout status daemonset/names --timeout 1s ||
        complain "there is no name server: kubectl --namespace kube-system describe pods"
    at kubectl get nodes --output wide
}

down() {
    for n in "${nodes[@]}"; do stop_node "$n"; done
    for name in scheduler controller-manager apiserver etcd; do ended $name $hub; done
    for hierarchy in /sys/fs/cgroup/*/burst-k8s; do
        [ ! -d "$hierarchy" ] || rmdir "$hierarchy"
    done
    for name in $hub "${nodes[@]/#/$hub-node-}"; do
        [ ! -e "/run/netns/$name" ] || ip netns delete "$name"
    done
    [ ! -f "$state/settings" ] || sysctl -q -p "$state/settings"
    rm -rf "$state"
}

case ${1:-} in
up) shift && up "$@" ;;
down) down ;;
at) shift && at "$@" ;;
start-node) start_node "${2:?which node}" ;;
stop-node) stop_node "${2:?which node}" ;;
*) complain "usage: $0 up IMAGE… | down | at COMMAND… | start-node N | stop-node N" ;;
esac
