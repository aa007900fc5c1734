#!/usr/bin/env bash
# Runs a command as root on Debian's own kernel in a QEMU virtual machine, which has features that this machine's
# kernel lacks (control groups of version 2, Landlock). The machine's files are visible read-only, below a layer in
# memory. Emulated, it is some ten times slower than the machine; ACCELERATOR=kvm avoids that where it works, which
# below another hypervisor it often does not.
#
#   tests/kernel/run.sh COMMAND [ARGUMENT...]
set -euo pipefail

# Debian 12's kernel; newer versions from apt only add security fixes.
PACKAGE=linux-image-amd64
MEMORY=3G
ACCELERATOR=${ACCELERATOR:-tcg,thread=multi}
cache=${BURST_TEST_KERNEL:-${XDG_CACHE_HOME:-$HOME/.cache}/burst/test-kernel}
here=$(cd "$(dirname "$0")" && pwd)

install() {
    local missing=()
    for program in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio depmod:kmod; do
        PATH=$PATH:/sbin:/usr/sbin command -v "${program%%:*}" >/dev/null || missing+=("${program##*:}")
    done
    if ((${#missing[@]})); then
        apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
    fi
}

fetch() {
    local image
    image=$(apt-cache depends "$PACKAGE" | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -1)
    [ -n "$image" ] || { echo "$0: apt knows no $PACKAGE" >&2; exit 1; }
    rm -rf "$cache.part" && mkdir -p "$cache.part"
    (cd "$cache.part" && apt-get download -qq -o APT::Sandbox::User=root "$image" && dpkg -x ./*.deb . && rm ./*.deb)
    PATH=$PATH:/sbin:/usr/sbin depmod -b "$cache.part" "${image#linux-image-}"
    rm -rf "$cache" && mv "$cache.part" "$cache"
}

# Creates the initial root: its init mounts the machine's files and hands over to guest.sh.
first() {
    local modules target=$1 module
    modules=$(echo "$cache"/lib/modules/*)
    mkdir -p "$target"/{bin,modules,proc,sys,dev,lower,upper,new}
    cp "$(command -v busybox)" "$target/bin/busybox"
    for module in $MODULES; do
        cp "$modules"/kernel/*/"$module.ko" "$modules"/kernel/*/*/"$module.ko" "$target/modules/" 2>/dev/null || true
        [ -e "$target/modules/$module.ko" ] || { echo "$0: the kernel has no module $module" >&2; exit 1; }
    done
    sed -e "s|@MODULES@|$MODULES|" -e "s|@GUEST@|$here/guest.sh|" "$here/init.sh" >"$target/init"
    chmod +x "$target/init"
}

MODULES="virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci netfs fscache 9pnet 9pnet_virtio 9p overlay"

install
[ -d "$cache/lib/modules" ] || fetch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first "$work/first"
(cd "$work/first" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/first.gz"
printf '%q ' cd "$PWD" >"$work/command"
printf '&& ' >>"$work/command"
printf '%q ' "$@" >>"$work/command"

qemu-system-x86_64 -M pc -accel "$ACCELERATOR" -cpu max -smp 2 -m "$MEMORY" -nographic -no-reboot -nic none \
    -kernel "$cache"/boot/vmlinuz-* -initrd "$work/first.gz" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off burst.work=$work burst.kernel=$cache" \
    -virtfs local,path=/,mount_tag=root,security_model=passthrough,readonly=on,multidevs=remap \
    </dev/null | tee "$work/said"
# The console's lines end in carriage returns.
grep -q $'^the command has ended with 0\r*$' "$work/said"
