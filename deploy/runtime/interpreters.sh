#!/usr/bin/env bash
# Lays out this machine's interpreters and their libraries for an image:
#
#   deploy/runtime/interpreters.sh DIRECTORY
#
# The interpreters are the first binaries named python3 and node in the PATH. A missing one is left out, and functions
# of its kind do not run in the image.
#
# They come with pip and npm, if available, which install packages that a function names but does not bring.
#
# With node come the packages that OpenWhisk's own image has (packages/package.json), each pinned by its hash in
# package-lock.json: in /node_modules, where functions in any directory find them. npm gets them within PULL_TIMEOUT
# seconds, from its cache if there is no network.
set -euo pipefail
umask 022

root=${1:?usage: $0 DIRECTORY}

packages=$(cd "$(dirname "$0")" && pwd)/packages

say() { echo "deploy/runtime/interpreters.sh: $*" >&2; }

# The C library is the image's own.
of_c_library='/(ld-linux[^/]*|libc|libm|libdl|libpthread|librt|libresolv|libutil)\.so'

# take_libraries FILE…: copies the libraries they are linked with to where the loader finds them in any image.
take_libraries() {
    local library
    { ldd "$@" 2>/dev/null || true; } | grep -o '=> /[^ ]*' | cut -d' ' -f2 | sort -u | grep -Ev "$of_c_library" |
        while read -r library; do
            install -D -m 644 "$(readlink -f "$library")" "$root/usr/lib/$(uname -m)-linux-gnu/$(basename "$library")"
        done
}

# Prints the first binary of this name: version managers put scripts before the interpreters.
binary() {
    local path
    while read -r path; do
        if [ "$(head -c 4 "$path" | tail -c 3)" = ELF ]; then
            readlink -f "$path"
            return
        fi
    done < <(type -ap "$1")
}

for name in python3 node; do
    found=$(binary "$name")
    if [ -z "$found" ]; then
        say "there is no $name here: functions that need it will not run in the image"
        continue
    fi
    install -D "$found" "$root$found"
    [ -e "$root/usr/bin/$name" ] || { mkdir -p "$root/usr/bin" && ln -s "$found" "$root/usr/bin/$name"; }
    take_libraries "$found"
    library=$(dirname "$(dirname "$found")")/lib/$(basename "$found")
    if [ "$name" = python3 ] && [ -d "$library" ]; then
        mkdir -p "$root$(dirname "$library")"
        # Its tests and build tools make up most of its size.
        tar -C "$(dirname "$library")" --exclude=test --exclude=idlelib --exclude=tkinter --exclude='config-*' \
            --exclude=ensurepip --exclude=site-packages -c "$(basename "$library")" | tar -C "$root$(dirname "$library")" -x
        mapfile -t modules < <(find "$library/lib-dynload" -name '*.so')
        [ ${#modules[@]} = 0 ] || take_libraries "${modules[@]}"
    fi
    case $name in
        python3) installer=$("$found" -I -c 'import os, pip; print(os.path.dirname(pip.__file__))' 2>/dev/null || true) ;;
        node) installer=$(dirname "$(dirname "$found")")/lib/node_modules/npm ;;
    esac
    if [ -d "$installer" ]; then
        mkdir -p "$root$(dirname "$installer")"
        tar -C "$(dirname "$installer")" --exclude=__pycache__ -c "$(basename "$installer")" |
            tar -C "$root$(dirname "$installer")" -x
    else
        say "$name has nothing here that installs packages: functions have to bring those that they need"
    fi
done

if [ -e "$root/usr/bin/node" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp "$packages"/package*.json "$work/"
    if timeout "${PULL_TIMEOUT:-60}" npm ci --prefix "$work" --ignore-scripts --prefer-offline --no-audit --no-fund \
        --silent >&2; then
        mv "$work/node_modules" "$root/"
    else
        say "npm cannot get the packages openwhisk, redis and uuid: functions that need them have to bring them"
    fi
fi
