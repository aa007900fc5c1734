#!/usr/bin/env bash
# Builds the images: burst (controller, invoker, command), burst-runtime (packs of all kinds) and burst-runtime-rust
# (packs without interpreters), and writes what is in each as CycloneDX to DIRECTORY/NAME.cdx.json.
#
#   deploy/images/build.sh DIST HELLO DIRECTORY
#
# Each has three tags: `latest`, the platform's version, and the version with the digest of the image's content. Equal
# files and settings have equal digests, wherever and whenever they were built. REGISTRY is a prefix of the names, such
# as registry.example.org/team. The rest of the environment is that of deploy/runtime/build.sh, except that the images
# of packs have no base image here unless BASE names one, whose content would be unknown.
set -euo pipefail
umask 022

dist=$(cd "${1:?usage: $0 DIST HELLO DIRECTORY}" && pwd)
hello=$2
mkdir -p "$3"
out=$(cd "$3" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT

docker info >/dev/null 2>&1 || { echo "$0: docker does not answer: install docker.io and start dockerd" >&2; exit 1; }

mkdir "$context/data"
cp "$here/Dockerfile" "$context/"
"$here/layout.sh" "$dist" "$hello" "$context/root"
export BASE=${BASE:-own}
prefix=${REGISTRY:+$REGISTRY/}
docker build --quiet --tag "${prefix}burst:latest" "$context" >/dev/null
"$here/../runtime/build.sh" "$dist/bin/burst-runtime" "${prefix}burst-runtime:latest"
INTERPRETERS=no "$here/../runtime/build.sh" "$dist/bin/burst-runtime" "${prefix}burst-runtime-rust:latest"

# Their maximum sizes, in MB: every node pulls them.
declare -A most=([burst]=200 [burst-runtime-rust]=40)
for name in burst burst-runtime burst-runtime-rust; do
    image=$prefix$name
    digest=$("$here/contents.py" "$root" "$image" "$version" "$out/$name.cdx.json")
    docker tag "$image:latest" "$image:$version"
    docker tag "$image:latest" "$image:$version-$digest"
    size=$(docker image inspect --format '{{.Size}}' "$image:latest")
    echo "$image:$version-$digest $(numfmt --to=si "$size")B"
    [ "$size" -le $((${most[$name]:-1000000} * 1000000)) ] ||
        { echo "$0: $image has more than ${most[$name]} MB" >&2; exit 1; }
done
