#!/usr/bin/env bash
# Creates the keys of the tests' cluster and a kubeconfig for each of its components, valid
# for two days:
#
#   deploy/k8s/cluster/credentials.sh DIRECTORY API-SERVER-ADDRESS SERVICE-ADDRESS NODE…
set -euo pipefail
umask 077

out=${1:?usage: $0 DIRECTORY API-SERVER-ADDRESS SERVICE-ADDRESS NODE…}
server=$2
service=$3
shift 3
mkdir -p "$out"
cd "$out"

# RSA keys: the driver's client library reads no others from a kubeconfig.
key=(-newkey rsa:2048 -nodes)
openssl req -x509 "${key[@]}" -days 2 -subj /CN=tests -keyout ca.key -out ca.crt 2>/dev/null
openssl genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:2048 -out tokens.key 2>/dev/null
openssl pkey -in tokens.key -pubout -out tokens.pub

# certificate NAME SUBJECT [ADDRESSES]
certificate() {
    openssl req "${key[@]}" -subj "$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out "$1.crt" 2>/dev/null \
        -extfile <(echo "extendedKeyUsage=clientAuth,serverAuth"; [ -z "${3:-}" ] || echo "subjectAltName=$3")
}
# client NAME SUBJECT: creates its certificate and its kubeconfig.
client() {
    certificate "$1" "$2"
    cat >"$1.kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: tests, cluster: {server: "https://$server:6443", certificate-authority: $out/ca.crt}}]
users: [{name: $1, user: {client-certificate: $out/$1.crt, client-key: $out/$1.key}}]
contexts: [{name: tests, context: {cluster: tests, user: $1}}]
current-context: tests
END
}
certificate apiserver /CN=kube-apiserver \
    "IP:$server,IP:$service,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
client admin /O=system:masters/CN=admin
client controller-manager /CN=system:kube-controller-manager
client scheduler /CN=system:kube-scheduler
client proxy /CN=system:kube-proxy
client policies /CN=policies
for node; do
    client "$node" "/O=system:nodes/CN=system:node:$node"
done
