#!/usr/bin/env bash
# Builds the components of the tests' cluster, and the images of its own pods:
#
#   deploy/k8s/cluster/build.sh DIRECTORY
#
# Kubernetes, its name server, the pause program and the enforcer of policies are Go modules, pinned by the hashes in
# go.sum. etcd, containerd, runc and the network plugins are the machine's: see need, below.
set -euo pipefail

mkdir -p "${1:?usage: $0 DIRECTORY}"
out=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
PATH=$PATH:/usr/local/go/bin:/usr/sbin
export CGO_ENABLED=0

missing=
# need COMMAND PACKAGE: records the Debian package of a missing command.
need() { command -v "$1" >/dev/null || missing="$missing $2"; }
need go golang
need etcd etcd-server
need containerd containerd
need runc runc
need /usr/lib/cni/ptp containernetworking-plugins
need iptables iptables
need conntrack conntrack
need ip iproute2
need nsenter util-linux
need docker docker.io
need openssl openssl
need jq jq
[ -z "$missing" ] || { echo "$0: install$missing" >&2; exit 1; }

cd "$here"
version=$(go list -mod=readonly -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
go build -p 2 -trimpath -mod=readonly -o "$out/" -ldflags "-s -w
    -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitMajor=1
    -X k8s.io/component-base/version.gitMinor=${minor%%.*}" \
    k8s.io/kubernetes/cmd/kube-{apiserver,controller-manager,scheduler,proxy} k8s.io/kubernetes/cmd/{kubelet,kubectl}
go build -trimpath -mod=readonly -ldflags "-s -w" -o "$out/" ./pause ./policies
(cd names && go build -p 2 -trimpath -mod=readonly -ldflags "-s -w" -o "$out/coredns" .)

for name in pause coredns; do
    mkdir -p "$out/../context"
    cp "$out/$name" "$out/../context/"
    printf 'FROM scratch\nCOPY %s /\nENTRYPOINT ["/%s"]\n' $name $name |
        docker build --quiet --file - --tag "burst.test/$name:1" "$out/../context" >/dev/null 2>&1 ||
        { echo "$0: docker does not build the image of $name" >&2; exit 1; }
done
rm -rf "$out/../context"
