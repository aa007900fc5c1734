#!/usr/bin/env bash
# Packs dist/ into a tarball and a Debian package, for machines with this one's processor architecture and the same
# or a newer C library. Equal dist/ directories give byte-identical packages. SOURCE_DATE_EPOCH is the time of their
# files, by default that of the last commit.
#
#   deploy/package/build.sh DIST DIRECTORY
set -euo pipefail
umask 022

dist=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
: "${SOURCE_DATE_EPOCH:=$(git -C "$root" log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The runtime files, without this machine's class-data archive and without the examples.
lay_out() {
    mkdir -p "$1/bin" "$1/lib" "$1/share"
    install "$dist/bin/burst" "$dist/bin/burst-runtime" "$1/bin/"
    ln -s burst "$1/bin/wsk"
    install -m 644 "$dist/lib/burst-standalone.jar" "$1/lib/"
    cp -r --no-preserve=mode,ownership "$dist/share/." "$1/share/"
}

# Times, owners and order do not depend on the machine.
archive() {
    find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    tar --directory "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --create "$2" | gzip --no-name >"$3"
}

tarball() {
    local name=burst-$version-linux-$(uname -m)
    lay_out "$work/tar/$name"
    install -m 644 "$root/LICENSE" "$root/README.md" "$work/tar/$name/"
    install -D -m 644 --target-directory "$work/tar/$name/share/systemd" "$here"/units/*.service
    archive "$work/tar" "$name" "$out/$name.tar.gz"
    echo "$out/$name.tar.gz"
}

debian() {
    local tree=$work/deb architecture package glibc size page shell
    architecture=$(dpkg --print-architecture)
    package=$out/burst_${version}_$architecture.deb
    glibc=$("$dist/bin/burst-runtime" describe | sed -n 's/.*"glibc" *: *"\([^"]*\)".*/\1/p')
    lay_out "$tree/usr/lib/burst"
    mkdir -p "$tree"/{DEBIAN,etc/default,usr/bin,usr/share/doc/burst}
    ln -s ../lib/burst/bin/burst "$tree/usr/bin/burst"
    ln -s ../lib/burst/bin/burst-runtime "$tree/usr/bin/burst-runtime"
    install -D -m 644 --target-directory "$tree/lib/systemd/system" "$here"/units/*.service
    install -D -m 640 --target-directory "$tree/etc/burst" "$here"/debian/*.conf
    for name in burst burst-controller burst-invoker; do
        echo "# Flags of $name.service, as in OPTIONS=\"--port 8080\"." >"$tree/etc/default/$name"
        echo 'OPTIONS=""' >>"$tree/etc/default/$name"
    done
    mkdir -p "$tree/usr/share/man"
    mv "$tree/usr/lib/burst/share/man/man1" "$tree/usr/share/man/"
    rmdir "$tree/usr/lib/burst/share/man"
    for page in "$tree"/usr/share/man/man1/*; do gzip --no-name --best "$page"; done
    install -m 644 "$root/LICENSE" "$tree/usr/share/doc/burst/copyright"
    gzip --no-name --best <"$root/CHANGELOG.md" >"$tree/usr/share/doc/burst/changelog.gz"
    mkdir -p "$tree"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
    "$dist/bin/burst" completion bash >"$tree/usr/share/bash-completion/completions/burst"
    "$dist/bin/burst" completion zsh >"$tree/usr/share/zsh/vendor-completions/_burst"
    "$dist/bin/burst" completion fish >"$tree/usr/share/fish/vendor_completions.d/burst.fish"
    size=$(du --summarize --apparent-size --block-size=1024 "$tree" | cut -f1)
    sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@GLIBC@/$glibc/" -e "s/@SIZE@/$size/" \
        "$here/debian/control" >"$tree/DEBIAN/control"
    install -m 755 --target-directory "$tree/DEBIAN" "$here"/debian/{postinst,prerm,postrm}
    (cd "$tree" && find etc -type f | sort | sed 's|^|/|') >"$tree/DEBIAN/conffiles"
    (cd "$tree" && find usr lib -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
    find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group --build "$tree" "$package" >/dev/null
    echo "$package"
}

tarball
if command -v dpkg-deb >/dev/null; then
    debian
else
    echo "deploy/package/build.sh: there is no dpkg-deb here, and so no Debian package" >&2
fi
