#!/usr/bin/env bash
# Installs the Debian package in a bare root file system and lets systemd start it there: the unit files are valid, the
# service runs as an ordinary user and isolates packs, a flare runs, and it stops cleanly; an upgrade keeps stored
# data, and purging leaves nothing. Needs root, debootstrap, systemd-nspawn and access to Debian's packages.
#
#   deploy/package/test.sh DIRECTORY
set -euo pipefail

packages=$(cd "$1" && pwd)
mirror=$(sed -n 's/^URIs: //p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
work=$(mktemp -d)
root=$work/root
said=$work/said
machine=

complain() {
    echo "deploy/package/test.sh: $1" >&2
    [ ! -s "$said" ] || tail -n 20 "$said" >&2
    exit 1
}

end() {
    [ -z "$machine" ] || { kill "$machine" 2>/dev/null && wait "$machine"; } || true
    ! mountpoint --quiet "$root/proc" || umount "$root/proc"
    rm -rf "$work"
}
trap end EXIT

for command in debootstrap systemd-nspawn nsenter; do
    command -v "$command" >/dev/null || complain "there is no $command: install debootstrap and systemd-container"
done
[ "$(id -u)" = 0 ] || complain "only root can make a root file system"

inside() { nsenter --target "$init" --all -- "$@"; }

# until_so SECONDS COMMAND…: repeats a command until it succeeds, or fails after this time.
until_so() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >"$said" 2>&1; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.2
    done
}

expect() { grep --quiet --fixed-strings -- "$1" "$said" || complain "there is no '$1' in what was said"; }

debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,adduser,ca-certificates,curl,python3 \
    "${SUITE:-bookworm}" "$root" ${mirror:+"$mirror"} >"$said" 2>&1 || complain "no bare root file system was made"
cp "$packages"/burst_*.deb "$root/root/burst.deb"
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
mount --bind /proc "$root/proc"
DEBIAN_FRONTEND=noninteractive chroot "$root" sh -ec \
    'apt-get update -qq; apt-get install -y -qq --no-install-recommends /root/burst.deb' >"$said" 2>&1 ||
    complain "the package cannot be installed"
chroot "$root" systemd-analyze verify --man=no /lib/systemd/system/burst{,-controller,-invoker}.service >"$said" 2>&1 ||
    complain "a unit file is not sound"
umount "$root/proc"
printf 'def main(args):\n    return {"greeting": "hello " + args["name"]}\n' >"$root/root/hello.py"

systemd-nspawn --directory "$root" --register=no --keep-unit --private-network --boot --console=pipe \
    </dev/null >"$work/console" 2>&1 &
machine=$!
until_so 30 pgrep --parent "$machine" || complain "systemd does not start"
init=$(pgrep --parent "$machine" | head -n 1)
until_so 60 inside systemctl is-system-running --wait || expect degraded

inside systemctl start burst
until_so 60 inside curl --silent --fail http://127.0.0.1:3233/ready || complain "the service is not ready"
inside journalctl --unit burst --no-pager >"$said"
expect "packs are run by the driver sandbox"
inside systemctl show burst --property User,MainPID >"$said"
expect User=burst
inside install -m 600 /var/lib/burst/properties /root/.burst.properties
inside env HOME=/root burst run /root/hello.py --size 2 --param name=Ada >"$said" 2>&1 || complain "the flare failed"
expect "hello Ada"

# Installs it again, like an upgrade.
inside dpkg --install /root/burst.deb >"$said" 2>&1 || complain "the package cannot be installed over itself"
until_so 60 inside curl --silent --fail http://127.0.0.1:3233/ready || complain "the service did not go on"
inside env HOME=/root burst flare hello --param name=Eve --result >"$said" 2>&1 || complain "what was stored is gone"
expect "hello Eve"

inside systemctl stop burst
inside systemctl show burst --property Result,ExecMainStatus >"$said"
expect Result=success
expect ExecMainStatus=0
inside env DEBIAN_FRONTEND=noninteractive dpkg --purge burst >"$said" 2>&1 || complain "the package cannot be purged"
for left in /usr/lib/burst /etc/burst /var/lib/burst /lib/systemd/system/burst.service; do
    [ ! -e "$root$left" ] || complain "$left is left"
done
echo "installed, started, flared, upgraded, stopped and purged: burst runs from its package"
