#!/bin/sh
# Saves the platform's classes as a JVM has them (class data sharing), for `burst` to start it with: a start takes half
# the time. A JVM of release 25 or later saves what it has counted of calls, too, and is called a while for that.
# usage: save-classes.sh DIST, after the jar is there.
#
# Good for the JVM that made it and for the jar at this place alone. Without it everything works: what goes wrong here
# is said and fails nothing.
set -u
dist=$1
jar=$dist/lib/burst-standalone.jar
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
release=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
# What a JDK says of itself; none behind a script of a version manager.
jdk=$(dirname "$(dirname "$(readlink -f "$(command -v "$java")")")")/release
if [ "${release:-0}" -ge 25 ] && [ -f "$jdk" ]; then
    saved=$dist/lib/burst-standalone.aot
    # With the compiler that counts, whatever processors there are.
    options="-XX:AOTCacheOutput=$saved.new -XX:Tier3DelayOn=0"
    calls=24000
    cluster_calls=8000
    # `burst` knows by it whether the JVM and the jar are those that the cache was made of.
    stamp=$saved.jdk
else
    saved=$dist/lib/burst-standalone.jsa
    options=-XX:ArchiveClassesAtExit=$saved.new
    # What answers them is needed soon.
    calls=1
    cluster_calls=2
    stamp=
fi
work=$(mktemp -d) || exit 0
trap 'rm -rf "$work" "$saved.new" "$saved.new.config"' EXIT

give_up() {
    echo "save-classes.sh: $1: the platform will start without saved classes" >&2
    exit 0
}

is_stamped() {
    cmp -s "$jdk" "$stamp" && ! [ "$stamp" -nt "$jar" ] && ! [ "$stamp" -ot "$jar" ]
}

if [ "$saved" -nt "$jar" ] && { [ -z "$stamp" ] || is_stamped; }; then
    exit 0
fi
rm -f "$saved"
# What another JVM has saved of this jar stays.
for old in "$dist"/lib/burst-standalone.aot "$dist"/lib/burst-standalone.jsa; do
    [ "$old" -nt "$jar" ] || rm -f "$old" "$old.jdk"
done
cat >"$work/training.conf" <<'END'
burst.limits { invocations-per-minute = 1000000, flares-per-minute = 1000000, requests-per-minute = 1000000 }
# What nodes of a cluster do, too, before it is ready.
pekko.actor.typed.extensions = ["burst.standalone.TrainingRun"]
END
JDK_JAVA_OPTIONS=$options BURST_TRAINING_CALLS=$cluster_calls "$dist/bin/burst" standalone --config "$work/training.conf" --data "$work/.burst" --port 0 --slots 4 \
    --driver process >"$work/said" 2>&1 &
platform=$!
waited=0
until grep -q '^burst is ready' "$work/said"; do
    kill -0 $platform 2>/dev/null || give_up "the platform does not start: $(tail -n 1 "$work/said")"
    [ $waited -lt 1200 ] || { kill $platform; give_up 'the platform does not start within two minutes'; }
    waited=$((waited + 1))
    sleep 0.1
done
sed -n 's/^training run,/save-classes.sh: &/p' "$work/said" >&2
url=$(sed -n 's/^burst is ready on //p' "$work/said")
BURST_AUTH=$(sed -n 's/^AUTH=//p' "$work/.burst/properties") \
    "$java" -XX:+UseSerialGC -cp "$jar" burst.standalone.Training "$url" $calls 2>"$work/refused" ||
    echo "save-classes.sh: less is saved than could be: $(head -n 1 "$work/refused")" >&2
env -u BURST_APIHOST -u BURST_AUTH HOME="$work" "$dist/bin/burst" list >/dev/null 2>&1 || true
kill $platform
wait $platform || give_up "the platform ended with $?"
[ -f "$saved.new" ] || give_up 'the JVM has saved nothing'
if [ -n "$stamp" ]; then
    cp "$jdk" "$stamp" && touch -r "$jar" "$stamp" || give_up "$stamp cannot be written"
fi
mv "$saved.new" "$saved" || give_up "$saved cannot be written"
