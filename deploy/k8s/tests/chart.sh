#!/usr/bin/env bash
# Tests the chart without a cluster: Helm's lint; for each set of values, the manifests of golden/, which Kubernetes'
# API accepts and which satisfy "restricted"; conflicting values are refused with a sentence; the alerts fire as
# alerts.yaml states; the kinds of backends are those of the runtime in DIST; and the settings, the keys and the test
# of a rendered chart work with that platform.
#
#   deploy/k8s/tests/chart.sh DIST HELLO [--update]     (--update: rewrites golden/)
#
# Needs Go, which builds Helm and the checker at the versions in go.sum, and Prometheus' promtool.
set -euo pipefail

dist=$(cd "${1:?usage: $0 DIST HELLO [--update]}" && pwd)
hello=$(realpath "$2")
update=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
chart=$here/../burst
work=$(mktemp -d)
processes=()
PATH=$PATH:/usr/local/go/bin

end() {
    [ ${#processes[@]} = 0 ] || { kill "${processes[@]}" && wait "${processes[@]}"; } 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT

complain() {
    echo "deploy/k8s/tests/chart.sh: $1" >&2
    [ ! -s "$work/said" ] || tail -n 20 "$work/said" >&2
    exit 1
}

# until_so SECONDS COMMAND…: repeats a command until it succeeds, or fails after this time.
until_so() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >"$work/said" 2>&1; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.2
    done
}

# Otherwise Helm would read this user's settings.
export HELM_CONFIG_HOME=$work/helm HELM_CACHE_HOME=$work/helm HELM_DATA_HOME=$work/helm KUBECONFIG=/dev/null
tools=$here/../../../target/chart
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
# Compiled without optimisation for a handful of runs, which takes a quarter of the time.
(cd "$here/../tools" && go build -mod=readonly -gcflags="all=-N -l" -o "$tools/" helm.sh/helm/v3/cmd/helm ./manifests)

render() { "$tools/helm" template burst "$chart" --namespace burst --kube-version 1.34.0 "$@"; }

# Masks what is generated on each render, and dashboards, which are long and contained in the chart.
masked() { sed -E -e 's/^(  (admin-key|cluster\.pem|secrets\.key): ).+$/\1MADE/' -e "s/^(  [a-z-]+\.json: ).+$/\1DASHBOARD/"; }

for values in default "$here"/values/*.yaml; do
    set=$(basename "$values" .yaml)
    arguments=()
    [ "$set" = default ] || arguments=(--values "$values")
    "$tools/helm" lint --strict --quiet "${arguments[@]}" "$chart" >"$work/said" 2>&1 || complain "helm lint, $set"
    render "${arguments[@]}" >"$work/$set.yaml" 2>"$work/said" || complain "helm template, $set"
    [ ! -s "$work/said" ] || complain "helm template warns, $set"
    counted=$("$tools/manifests" <"$work/$set.yaml" 2>"$work/said") || complain "manifests of $set"
    [ "$update" != --update ] || masked <"$work/$set.yaml" >"$here/golden/$set.yaml"
    masked <"$work/$set.yaml" | diff -u "$here/golden/$set.yaml" - >"$work/said" ||
        complain "$set renders otherwise than golden/$set.yaml (--update takes it over)"
    echo "$set: linted, as in golden/, $counted"
done

# The permissions of an invoker that was set up without the chart are the same.
rules() { awk '/^rules:$/ {on = 1} /^---$/ {on = 0} on' "$1"; }
diff -u <(rules "$here/../rbac-cluster.yaml"; rules "$here/../rbac.yaml") <(rules "$work/default.yaml") >"$work/said" ||
    complain "rbac.yaml and rbac-cluster.yaml give other rights"
diff -u <(rules "$here/../rbac.yaml") <(rules "$work/everything.yaml") >"$work/said" ||
    complain "an invoker with a number of slots has other rights than those in rbac.yaml"

# refuses SENTENCE ARGUMENT…
refuses() {
    local sentence=$1
    shift
    ! render "$@" >/dev/null 2>"$work/said" || complain "this is not refused: $*"
    grep --quiet --fixed-strings -- "$sentence" "$work/said" || complain "$* is not refused by '$sentence'"
}
refuses "several controllers need one database" --set controller.replicas=2
refuses "several controllers need one place for packages" --set controller.replicas=2 \
    --set store.postgresql.url=postgresql://db/burst
refuses "name the Secret with the user and the password" --set store.postgresql.url=postgresql://db/burst
refuses "networkPolicy.storeEgress" --set store.s3.url=s3://bucket
refuses "networkPolicy.backendEgress" --set backends.redis-list.kind=redis-list,backends.redis-list.existingSecret=it
refuses "networkPolicy.metricsFrom" --set invoker.metrics.enabled=true
refuses "networkPolicy.tracesEgress" --set traces.endpoint=http://collector:4318
refuses "the database would outlive the packages" --set controller.persistence.enabled=false \
    --set store.postgresql.url=postgresql://db/burst,store.postgresql.existingSecret=it
refuses "controller.drainSeconds" --set controller.drainSeconds=8
refuses "terminationGracePeriodSeconds" --set invoker.terminationGracePeriodSeconds=0
refuses "backends has no redis-list" --set defaultBackend=redis-list
refuses "give both, or none" --set runtime.arch=x86_64
refuses "slotz" --set invoker.slotz=1
refuses "slots" --set invoker.slots=nodes
refuses "replicas" --set controller.replicas=0
refuses "there are not so many users" --set invoker.replicas=3000
refuses "requires kubeVersion" --kube-version 1.29.0
echo "what does not go together is refused"

# Each of the runtime's kinds of backends can be chosen, except the one without a server, which needs no Secret.
"$dist/bin/burst-runtime" describe >"$work/described.json" || complain "the runtime does not describe itself"
python3 - "$chart/values.schema.json" "$work/described.json" >"$work/said" 2>&1 <<'END' ||
import json, sys
schema, described = (json.load(open(name)) for name in sys.argv[1:])
named = schema["properties"]["backends"]["additionalProperties"]["properties"]["kind"]["enum"]
known = [kind for kind in described["backends"] if kind != "direct"]
sys.exit(None if sorted(named) == sorted(known) else f"the schema names {named}, the runtime knows {known}")
END
    complain "values.schema.json has other kinds of backends than the runtime"
echo "backends are of the runtime's kinds"

# The alerts fire as their test states, and Prometheus understands the dashboards' queries, which it checks as rules.
promtool test rules "$here/alerts.yaml" >"$work/said" 2>&1 || complain "alerts"
python3 - "$chart"/monitoring/dashboards/*.json >"$work/asked.yaml" <<'END'
import json, re, sys
panels = [panel for name in sys.argv[1:] for panel in json.load(open(name))["panels"]]
asked = [target["expr"] for panel in panels for target in panel.get("targets", [])]
rules = [{"record": f"asked:{i}", "expr": re.sub(r"\[\$\w+\]", "[5m]", it)} for i, it in enumerate(asked)]
print(json.dumps({"groups": [{"name": "dashboards", "rules": rules}]}))
END
promtool check rules "$work/asked.yaml" >"$work/said" 2>&1 || complain "dashboards"
echo "alerts are tried, and dashboards' expressions are read"

# ---- The rendered settings, with the platform -------------------------------------------------------------------

# data NAME FILE: prints an entry of a ConfigMap of the rendered chart.
data() { awk -v name="  $1: |" '$0 == name {on = 1; next} on && !/^    / && NF {exit} on {print substr($0, 5)}' "$2"; }
# laid_out SET NAME…: writes the set's settings to files, in a directory that replaces /etc/burst.
laid_out() {
    local set=$1
    shift
    mkdir -p "$work/$set/settings" "$work/$set/node"
    for name in logback.xml "$@"; do
        data "$name" "$work/$set.yaml" | sed "s|/etc/burst/|$work/$set/|" >"$work/$set/settings/$name"
        [ -s "$work/$set/settings/$name" ] || complain "$set has no $name"
    done
}
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

laid_out default controller.conf invoker.conf burst-invoker-0.conf
umask 077
"$tools/manifests" -secret cluster.pem <"$work/default.yaml" >"$work/default/node/cluster.pem"
BURST_ADMIN_KEY=$("$tools/manifests" -secret admin-key <"$work/default.yaml")
export BURST_ADMIN_KEY HOME=$work
export JDK_JAVA_OPTIONS="-Xmx256m -Dlogback.configurationFile=$work/default/settings/logback.xml"
node=127.0.0.1:$(port)
api=$(port)
"$dist/bin/burst" controller --host=127.0.0.1 --port="$api" --node="$node" --seed="$node" --data="$work/controller" \
    --config="$work/default/settings/controller.conf" >"$work/controller.log" 2>&1 &
processes+=($!)
"$dist/bin/burst" invoker --driver=process --id=burst-invoker-0 --node=127.0.0.1 --seed="$node" \
    --data="$work/invoker" --config="$work/default/settings/burst-invoker-0.conf" >"$work/invoker.log" 2>&1 &
processes+=($!)
until_so 60 curl --silent --fail "http://127.0.0.1:$api/ready" ||
    { cp "$work/controller.log" "$work/said"; complain "the controller does not take the chart's settings"; }
until_so 60 grep --quiet "burst invoker burst-invoker-0 is ready" "$work/invoker.log" ||
    { cp "$work/invoker.log" "$work/said"; complain "the invoker does not take the chart's settings or its key"; }
grep --quiet "INFO .*packs are of the driver process" "$work/invoker.log" || complain "logs are not on standard output"

# Runs the test's own script with a POSIX shell, as in the image.
awk '/^        - \|$/ {on = 1; next} on && !/^          / {exit} on {print substr($0, 11)}' "$work/default.yaml" |
    sed -e "s|/tmp/properties|$work/properties|" -e "s|/usr/lib/burst/share/examples/hello|$hello|" >"$work/test.sh"
grep --quiet "burst flare hello" "$work/test.sh" || complain "there is no test"
# tests SCRIPT: succeeds if the script does.
tests() {
    PATH=$dist/bin:$PATH ADMIN_KEY=$BURST_ADMIN_KEY BURST_APIHOST=http://127.0.0.1:$api sh -eu "$1" >"$work/said" 2>&1
}
for time in first second; do
    tests "$work/test.sh" || complain "the chart's test fails the $time time"
    grep --quiet "Hello, Kubernetes, from worker 1 of 2" "$work/said" || complain "the chart's test runs no flare"
done
# From inside, as described in the notes.
PATH=$dist/bin:$PATH BURST_CONFIG_FILE=$work/controller/properties burst admin namespace create me >"$work/said" 2>&1 ||
    complain "the administrator's key of the data directory is not good"
sed 's|^namespace=.*|namespace=me|' "$work/test.sh" >"$work/theirs.sh"
! tests "$work/theirs.sh" || complain "the chart's test takes another's namespace"
grep --quiet "the namespace me is somebody else's" "$work/said" || complain "the chart's test does not say whose it is"
echo "a controller and an invoker run by the rendered settings, and the chart's test passes"

# The settings of all other values are also valid: they fail only because no such servers exist here.
laid_out everything controller.conf invoker.conf platform-invoker-1.conf
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=burst -keyout "$work/everything/node/tls.key" \
    -out "$work/everything/node/tls.crt" 2>/dev/null
cp "$work/everything/node/tls.crt" "$work/everything/node/ca.crt"
mkdir -p "$work/everything/api" "$work/everything/ca"
cp "$work/everything/node"/tls.* "$work/everything/api/"
cp "$work/everything/node/tls.crt" "$work/everything/ca/redis.pem"
sed -i 's|db.example.org:5432|127.0.0.1:9|' "$work/everything/settings/controller.conf"
sed -i 's|"0.0.0.0", port = 3234|"127.0.0.1", port = 0|' "$work/everything/settings/invoker.conf"
# ends SENTENCE COMMAND…
ends() {
    local sentence=$1
    shift
    ! timeout 60 "$@" >"$work/said" 2>&1 || complain "it starts: $*"
    grep --quiet --fixed-strings -- "$sentence" "$work/said" || complain "it does not end by '$sentence': $*"
}
BURST_BACKEND_0=rediss://:secret@127.0.0.1 BURST_BACKEND_1=amqp://u:p@127.0.0.1:5672/%2f \
    BURST_STORE_USER=u BURST_STORE_PASSWORD=p ends "127.0.0.1:9" "$dist/bin/burst" controller --node="127.0.0.1:$(port)" \
    --port=0 --data="$work/controller2" --config="$work/everything/settings/controller.conf"
ends "Kubernetes does not answer" "$dist/bin/burst" invoker --driver=kubernetes --node=127.0.0.1 \
    --data="$work/invoker2" --config="$work/everything/settings/platform-invoker-1.conf"
laid_out ha controller.conf
mkdir -p "$work/ha/ca"
cp "$work/default/node/cluster.pem" "$work/ha/node/"
cp "$work/everything/node/tls.crt" "$work/ha/ca/db.pem"
sed -i 's|db.example.org:5432|127.0.0.1:9|' "$work/ha/settings/controller.conf"
BURST_STORE_USER=u BURST_STORE_PASSWORD=p BURST_S3_ACCESS_KEY=k BURST_S3_SECRET_KEY=s \
    ends "127.0.0.1:9" "$dist/bin/burst" controller --node="127.0.0.1:$(port)" \
    --port=0 --data="$work/controller3" --config="$work/ha/settings/controller.conf"
echo "the settings of all values are known"
