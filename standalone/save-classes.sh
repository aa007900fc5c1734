#!/bin/sh
# Saves the platform's classes as a JVM has them (class data sharing), for `burst` to start it with: a start takes half
# the time. usage: save-classes.sh DIST, after the jar is there.
#
# Good for the JVM that made it and for the jar at this place alone. Without it everything works: what goes wrong here
# is said and fails nothing.
set -u
dist=$1
saved=$dist/lib/burst-standalone.jsa
work=$(mktemp -d) || exit 0
trap 'rm -rf "$work" "$saved.new"' EXIT

give_up() {
    echo "save-classes.sh: $1: the platform will start without saved classes" >&2
    exit 0
}

[ "$saved" -nt "$dist/lib/burst-standalone.jar" ] && exit 0
rm -f "$saved"
JDK_JAVA_OPTIONS=-XX:ArchiveClassesAtExit=$saved.new \
    "$dist/bin/burst" standalone --data "$work/.burst" --port 0 --slots 1 --driver process >"$work/said" 2>&1 &
platform=$!
waited=0
until grep -q '^burst is ready' "$work/said"; do
    kill -0 $platform 2>/dev/null || give_up "the platform does not start: $(tail -n 1 "$work/said")"
    [ $waited -lt 600 ] || { kill $platform; give_up 'the platform does not start within a minute'; }
    waited=$((waited + 1))
    sleep 0.1
done
# What answers requests is needed soon, too.
env -u BURST_APIHOST -u BURST_AUTH HOME="$work" "$dist/bin/burst" list >/dev/null 2>&1 || true
kill $platform
wait $platform || give_up "the platform ended with $?"
mv "$saved.new" "$saved" 2>/dev/null || give_up 'the JVM has saved nothing'
