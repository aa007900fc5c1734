#!/usr/bin/env bash
# Lays out the file system of the image `burst`: the output of `make build ALSO=hello`, a Java runtime with the required
# modules, the C library, a shell.
#
#   deploy/images/layout.sh DIST HELLO DIRECTORY
#
# HELLO is the example of that name, which `helm test` runs. JAVA_HOME names the JDK that provides the runtime.
set -euo pipefail
umask 022

dist=$(cd "${1:?usage: $0 DIST HELLO DIRECTORY}" && pwd)
hello=$2
root=$3
here=$(cd "$(dirname "$0")" && pwd)
java=${JAVA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")}
home=$root/usr/lib/burst

# The JDK modules. The less obvious ones are needed by Pekko for its flight recorder (jdk.jfr), by TLS for elliptic
# curves (jdk.crypto.ec), by PostgreSQL's driver for Kerberos (java.security.jgss), and by connections for keep-alive
# (jdk.net).
modules=java.base,java.logging,java.management,java.naming,java.net.http,java.security.jgss,java.sql,java.xml
modules=$modules,jdk.crypto.ec,jdk.jfr,jdk.management,jdk.net,jdk.unsupported,jdk.zipfs

mkdir -p "$home"/{bin,lib,share/examples} "$root"/{bin,var/lib}
"$java/bin/jlink" --add-modules "$modules" --strip-debug --no-header-files --no-man-pages --compress 2 \
    --output "$home/jre"
install "$dist/bin/burst" "$dist/bin/burst-runtime" "$home/bin/"
install "$hello" "$home/share/examples/hello"
# Function names stay, for backtraces; the rest of the debugging information makes up most of the size.
strip --strip-debug "$home/bin/burst" "$home/bin/burst-runtime"
strip --strip-all "$home/share/examples/hello"
install -m 644 "$dist/lib/burst-standalone.jar" "$home/lib/"
ln -s burst "$home/bin/wsk"

# For kubectl exec, and for the test.
install /bin/dash "$root/bin/sh"
install /bin/cat /bin/sleep "$root/bin/"
# The platform uses it to lower the priority of the JVM's second compiler.
install /usr/bin/renice "$root/bin/"

mapfile -t programs < <(find "$root" -type f \( -perm -100 -o -name '*.so' \) ! -name hello)
"$here/../runtime/base.sh" "$root" "$home/bin/burst-runtime" "${programs[@]}"
echo 'burst:x:65532:65532:Burst:/var/lib/burst:/bin/sh' >>"$root/etc/passwd"
echo 'burst:x:65532:' >>"$root/etc/group"
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
