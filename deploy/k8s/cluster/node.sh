#!/usr/bin/env bash
# Runs one node of the tests' cluster: this is the first process of namespaces of its own, except for the network
# namespace, which it is given. Everything that runs on the node ends with it.
#
#   deploy/k8s/cluster/node.sh NAME ADDRESS POD-RANGE STATE BIN CREDENTIALS
#
# Ends when containerd, the kubelet, the proxy or the enforcer of policies ends.
set -euo pipefail

name=$1
address=$2
pods=$3
state=$4
bin=$5
credentials=$6
PATH=$bin:$PATH:/usr/sbin:/sbin

# The paths and names that programs consider the machine's belong to the node.
mount --make-rprivate /
mount --make-rshared /
hostname "$name"
mkdir -p "$state"/{var,work,containerd,kubelet,network,logs}
mount -t tmpfs tmpfs /run
mkdir -p /run/lock
mount -t overlay overlay -o "lowerdir=/var,upperdir=$state/var,workdir=$state/work" /var
mkdir -p /var/lib/containerd /var/lib/kubelet
mount --bind "$state/containerd" /var/lib/containerd
mount --bind "$state/kubelet" /var/lib/kubelet
for hierarchy in /sys/fs/cgroup/*/; do
    mkdir -p "${hierarchy}burst-k8s/$name" 2>/dev/null || true
done
# A new cpuset group has no processors or memory nodes.
for file in cpus mems; do
    for group in burst-k8s "burst-k8s/$name"; do
        cat "/sys/fs/cgroup/cpuset/cpuset.$file" >"/sys/fs/cgroup/cpuset/$group/cpuset.$file"
    done
done

# A group counts as one process among all others of the machine: a node should count as several.
echo 16384 >/sys/fs/cgroup/cpu/burst-k8s/cpu.shares

cat >"$state/network/10-pods.conflist" <<END
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "ptp", "mtu": 1500, "ipam": {"type": "host-local", "ranges": [[{"subnet": "$pods"}]],
   "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
cat >"$state/containerd.toml" <<END
version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "burst.test/pause:1"
# If root may not lower its processes' out-of-memory scores below its own, no pod could start otherwise.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$state/network"
END
echo "nameserver 127.0.0.1" >"$state/resolv.conf"
# Both nodes see all of the machine's memory: each offers 6 GiB of it.
reserved=$(awk '/^MemTotal/ {print int($2 / 1024) - 6144}' /proc/meminfo)
cat >"$state/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: $credentials/ca.crt}}
cgroupDriver: cgroupfs
cgroupRoot: /burst-k8s/$name
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
systemReserved: {memory: ${reserved}Mi}
clusterDNS: [10.215.0.10]
clusterDomain: cluster.local
resolvConf: $state/resolv.conf
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
podPidsLimit: 512
nodeStatusUpdateFrequency: 5s
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
END

sysctl -q -w net.ipv4.ip_forward=1
containerd --config "$state/containerd.toml" >"$state/logs/containerd.log" 2>&1 &
for _ in $(seq 100); do
    [ ! -S /run/containerd/containerd.sock ] || break
    sleep 0.1
done
for image in "$state"/../images/*.tar; do
    [ -f "$state/imported-$(basename "$image")" ] || {
        ctr --namespace k8s.io images import "$image" >"$state/logs/import.log" 2>&1
        touch "$state/imported-$(basename "$image")"
    }
done
kubelet --config "$state/kubelet.yaml" --kubeconfig "$credentials/$name.kubeconfig" --hostname-override "$name" \
    --node-ip "$address" --root-dir /var/lib/kubelet --cert-dir "$state/kubelet-keys" >"$state/logs/kubelet.log" 2>&1 &
kube-proxy --kubeconfig "$credentials/proxy.kubeconfig" --hostname-override "$name" --cluster-cidr 10.214.0.0/16 \
    --conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0 \
    --proxy-mode iptables >"$state/logs/proxy.log" 2>&1 &
policies "$credentials/policies.kubeconfig" "$pods" >"$state/logs/policies.log" 2>&1 &
wait -n
