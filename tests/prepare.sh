#!/usr/bin/env bash
# Installs what the tests need besides the toolchains: curl, openssl, Redis, PostgreSQL, RabbitMQ, docker, an S3 server,
# Go, promtool, the platform in dist/ and the runtime's image. Installs and starts things only if permitted, and reports
# what it could not do: the tests that need it then fail with a message.
set -uo pipefail
cd "$(dirname "$0")/.."

missing=0

complain() {
    echo "tests/prepare.sh: $1" >&2
    missing=1
}

# need COMMAND PACKAGE: installs the Debian package if the command is missing.
need() {
    command -v "$1" >/dev/null && return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing $2"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$2"; } \
            >/dev/null && command -v "$1" >/dev/null && return 0
        complain "cannot install $2 (command $1); see the messages above"
    else
        complain "$1 is missing: install it, on Debian with: sudo apt-get install $2"
    fi
    return 1
}

# docker_answers TRIES: waits until dockerd answers, a fifth of a second per try.
docker_answers() {
    for _ in $(seq "$1"); do
        docker info >/dev/null 2>&1 && return 0
        sleep 0.2
    done
    return 1
}

# forget_stale FILE COMMAND: removes a pid file whose process has ended, or whose number now belongs to another command.
# A daemon that finds such a file after a hard stop mistakes that process for its own, and waits for it.
forget_stale() {
    [ -f "$1" ] || return 0
    [ "$(cat "/proc/$(cat "$1")/comm" 2>/dev/null)" = "$2" ] || rm -f "$1"
}

start_dockerd() {
    forget_stale /var/run/docker.pid dockerd
    forget_stale /var/run/docker/containerd/containerd.pid containerd
    # In a session of its own: it also serves later runs, and a Ctrl-C here must not reach it.
    setsid dockerd >>target/dockerd.log 2>&1 </dev/null &
    local dockerd=$!
    for _ in $(seq 30); do
        docker_answers 5 && return 0
        kill -0 "$dockerd" 2>/dev/null || return 1
    done
    kill "$dockerd" 2>/dev/null
    timeout 20 tail --pid="$dockerd" -f /dev/null || kill -KILL "$dockerd"
    return 1
}

need curl curl
need openssl openssl
need redis-server redis-server
# The interpreters of functions, here and, through `make image`, in containers.
need python3 python3
need node nodejs
# Its programs are not in the path. The tests start their own clusters; the package's is not used.
[ -n "$(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null)" ] || need pg_ctlcluster postgresql
# The tests start their own nodes; the system's service, if the package starts one, is not used.
need rabbitmq-server rabbitmq-server
# Tests of clusters cut machines off.
need ip iproute2
need iptables iptables
# For the chart: Go builds Helm at the version in go.sum.
PATH=$PATH:/usr/local/go/bin command -v go >/dev/null ||
    complain "go is missing: install Go 1.21 or newer, which gets the toolchain that go.mod names"
need promtool prometheus
# For the JVM's tests; they use the same server as the Rust tests, for which `make test` has already compiled it.
[ -x target/linted/release/burst-s3-server ] || make --no-print-directory s3-server ||
    complain "the S3 server of the tests could not be built: see above"
if need docker docker.io && ! docker_answers 1; then
    if [ "$(id -u)" = 0 ] && need dockerd docker.io; then
        mkdir -p target
        echo "starting dockerd; its log is target/dockerd.log"
        : >target/dockerd.log
        start_dockerd || start_dockerd || complain "dockerd does not answer: see target/dockerd.log"
    else
        complain "dockerd does not run, or you may not use it: start it as root, and join the group docker"
    fi
fi
# OpenWhisk's own published clients, each pinned by its hash in package-lock.json.
if need node nodejs && need npm npm; then
    npm ci --prefix tests/clients --ignore-scripts --no-audit --no-fund --silent ||
        complain "the npm package openwhisk could not be installed: see above"
fi
goals="build examples"
docker_answers 1 && goals+=" image"
# shellcheck disable=SC2086 # several words
make --no-print-directory $goals || complain "the platform or its image could not be built: see above"

[ "$missing" = 0 ] || echo "tests/prepare.sh: the tests that need what is missing will fail, and say so" >&2
exit 0
