#!/usr/bin/env bash
# Lays out the root of an image with only what dynamically linked programs need: this machine's C library, the other
# libraries that the given programs are linked with, and unprivileged users.
#
#   deploy/runtime/base.sh DIRECTORY PROGRAM…
set -euo pipefail
umask 022

root=${1:?usage: $0 DIRECTORY PROGRAM…}
shift

mkdir -p "$root"
root=$(cd "$root" && pwd)
mkdir -p "$root"/{etc,tmp,proc,sys,dev}
chmod 1777 "$root/tmp"
echo 'nobody:x:65534:65534:nobody:/:/bin/false' >"$root/etc/passwd"
echo 'nogroup:x:65534:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
# The loader and the libraries keep their paths, where the loader looks for them.
for program in "$@"; do
    ldd "$program" | grep -o '/[^ ]*' || true
done | sort -u | { grep --invert-match "^$root/" || true; } | while read -r library; do
    [ ! -e "$library" ] || [ -e "$root$library" ] || install -D "$(readlink -f "$library")" "$root$library"
done
directory=$(dirname "$(ldd "$1" | grep -o '/[^ ]*/libc\.so\.6')")
# Other libraries that users' programs may need, and those with which the C library resolves names.
for library in libm.so.6 libgcc_s.so.1 libpthread.so.0 libdl.so.2 librt.so.1 libresolv.so.2 \
    libnss_files.so.2 libnss_dns.so.2 libstdc++.so.6; do
    for found in "$directory/$library" "/usr$directory/$library"; do
        [ -e "$found" ] && install -D "$(readlink -f "$found")" "$root$directory/$library" && break
    done || true
done
