#!/usr/bin/env bash
# Builds the runtime's container image.
#
#   deploy/runtime/build.sh target/release/burst-runtime [TAG]     (default: burst-runtime:latest)
#
# BASE names the base image, by default debian:bookworm-slim. If that can be neither found nor pulled, or has an older
# C library than the runtime was built with, a small one is made from this machine's C library, which needs no network.
# BASE=own does so directly. PULL_TIMEOUT is the limit for pulling, in seconds. With INTERPRETERS=no the image has no
# interpreters, and runs only functions of the kind rust and executables.
set -euo pipefail
# Files keep their modes in the image, where another user reads them.
umask 022

binary=${1:?usage: $0 BURST-RUNTIME [TAG]}
tag=${2:-burst-runtime:latest}
base=${BASE:-debian:bookworm-slim}
here=$(cd "$(dirname "$0")" && pwd)
context=$(mktemp -d)
log=$(mktemp)
trap 'rm -rf "$context" "$log"' EXIT

identity() { docker image inspect --format '{{.Id}}' "$1" 2>/dev/null || true; }

# Removes an image whose name another one has taken, unless a container uses it.
forget() {
    [ "$(docker image inspect --format '{{len .RepoTags}}{{len .RepoDigests}}' "$1" 2>/dev/null)" = 00 ] || return 0
    docker image rm "$1" >/dev/null 2>&1 || true
}

say() { echo "deploy/runtime/build.sh: $*" >&2; }

# Makes a base image with only what a dynamically linked program needs.
make_base() {
    local root=$context/root
    "$here/base.sh" "$root" "$binary"
    mkdir -p "$root/package"
    tar -C "$root" -c . | docker import - "$1" >/dev/null
    rm -rf "$root"
}

# build BASE: builds the image on that base, with labels from what the runtime reports there.
build() {
    local replaced plain described arch glibc
    replaced=$(identity "$tag")
    docker build --quiet --tag "$tag" --build-arg "BASE=$1" "$context" >/dev/null 2>"$log" || return
    forget "$replaced"
    plain=$(identity "$tag")
    described=$(docker run --rm --network none "$tag" describe 2>"$log") || return
    arch=$(sed -n 's/.*"arch" *: *"\([^"]*\)".*/\1/p' <<<"$described")
    glibc=$(sed -n 's/.*"glibc" *: *"\([^"]*\)".*/\1/p' <<<"$described")
    docker build --quiet --tag "$tag" --build-arg "BASE=$1" --build-arg "ARCH=$arch" \
        --build-arg "GLIBC=$glibc" "$context" >/dev/null 2>"$log" || return
    forget "$plain"
}

available() {
    docker image inspect "$1" >/dev/null 2>&1 ||
        timeout "${PULL_TIMEOUT:-20}" docker pull --quiet "$1" >/dev/null 2>&1
}

[ -x "$binary" ] || { say "$binary is not there: build it by cargo build --release -p burst-runtime"; exit 1; }
docker info >/dev/null 2>&1 || { say "docker does not answer: install docker.io and start dockerd"; exit 1; }

cp "$here/Dockerfile" "$context/"
# All in one directory: docker fails on the layer of an empty one.
files=$context/files
install -D -m 755 "$binary" "$files/usr/local/bin/burst-runtime"
# Function names stay, for backtraces; the rest of the debugging information makes up most of the size.
strip --strip-debug "$files/usr/local/bin/burst-runtime" 2>/dev/null || true
[ "${INTERPRETERS:-yes}" = no ] || "$here/interpreters.sh" "$files"
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$files/etc/ssl/certs/ca-certificates.crt" 2>/dev/null ||
    say "no certificate authorities here: work functions in containers will not be able to use TLS"

if [ "$base" != own ] && available "$base" && build "$base"; then
    say "built $tag on $base"
else
    own=burst-runtime-base:local
    [ "$base" = own ] || say "$base cannot be used here: making a base of this machine's C library"
    former=$(identity "$own")
    make_base "$own"
    build "$own" || { say "the image cannot be built:"; cat "$log" >&2; exit 1; }
    # Until now the previous image was based on it.
    forget "$former"
    say "built $tag on $own"
fi
