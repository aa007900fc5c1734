#!/usr/bin/env bash
# Tests the chart on a real cluster, which it starts and stops:
#
#   deploy/k8s/tests/kubernetes.sh DIST EXAMPLES RESULTS [SCENARIO…]
#
# With names of scenarios, runs only those (preceded by `install` if nothing is installed). KEEP=1 leaves the cluster
# running at the end, and reuses a running one; NO_RABBITMQ=1 skips RabbitMQ. The images are those of the local Docker
# whose names begin with burst.test/. Needs root, Go, Docker, etcd, containerd and Redis; S3_SERVER is the program of
# the tests' S3 server. Without it, or without RabbitMQ, whatever needs it is skipped, and reported as skipped.
set -euo pipefail

usage="usage: $0 DIST EXAMPLES RESULTS [SCENARIO…]"
dist=$(cd "${1:?$usage}" && pwd)
examples=$(cd "${2:?$usage}" && pwd)
mkdir -p "${3:?$usage}"
results=$(cd "$3" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cluster=$here/cluster.sh
chart=$here/../burst
mkdir -p "$here/../../../target/kubernetes"
target=$(cd "$here/../../../target/kubernetes" && pwd)

if [ -z "${BURST_TEST_INSIDE:-}" ]; then
    trap '[ -n "${KEEP:-}" ] || "$cluster" down' EXIT
    if [ ! -e "$target/state" ]; then
        "$here/../cluster/build.sh" "$target/bin"
        (cd "$here/../tools" && PATH=$PATH:/usr/local/go/bin go build -p 2 -mod=readonly -o "$target/bin/" \
            helm.sh/helm/v3/cmd/helm)
        "$cluster" up burst.test/burst:0.1.0 burst.test/burst-runtime:0.1.0
    fi
    BURST_TEST_INSIDE=yes "$cluster" at "$0" "$@"
    exit
fi
shift 3

work=$(mktemp -d)
processes=()
rabbitmq=
export HELM_CONFIG_HOME=$work/helm HELM_CACHE_HOME=$work/helm HELM_DATA_HOME=$work/helm
export BURST_CONFIG_FILE=$work/properties
PATH=$dist/bin:$PATH

end() {
    for process in "${processes[@]}"; do kill -- "-$process" 2>/dev/null || true; done
    if [ -n "$rabbitmq" ]; then
        until_so 20 rabbitmq_ended || true
        ERL_EPMD_PORT=14369 epmd -kill >/dev/null 2>&1 || true
        rm -rf "$rabbitmq"
    fi
    rm -rf "$work"
}
trap end EXIT

# shellcheck source=deploy/k8s/tests/kubernetes/means.sh
. "$here/kubernetes/means.sh"
# shellcheck source=deploy/k8s/tests/kubernetes/scenarios.sh
. "$here/kubernetes/scenarios.sh"

all=(install backends starts gangs slots cancel out-of-memory pod-deleted invoker-killed controller-killed node-killed drain
    upgrade kills policies uninstall driver)
scenarios=("$@")
[ ${#scenarios[@]} -gt 0 ] || scenarios=("${all[@]}")
backends_run
failed=()
if [[ ! " driver install " == *" ${scenarios[0]} "* ]] && ! helm status burst --namespace burst >/dev/null 2>&1; then
    scenarios=(install "${scenarios[@]}")
fi
outcomes=$results/scenarios.csv
[ $# -gt 0 ] && [ -f "$outcomes" ] || printf 'scenario,outcome,seconds,what\n' >"$outcomes"
for scenario in "${scenarios[@]}"; do
    echo "== $scenario"
    began=$SECONDS
    : >"$work/shown"
    [[ " driver install " == *" $scenario "* ]] || known
    # In a subshell, as a scenario exits where it fails; not as a condition, in which `set -e` has no effect.
    set +e
    (set -e; "scenario_${scenario//-/_}")
    status=$?
    set -e
    outcome=passed
    [ $status = 0 ] || { outcome=failed && failed+=("$scenario"); }
    echo "$scenario $outcome in $((SECONDS - began)) s"
    sed -i "/^$scenario,/d" "$outcomes"
    printf '%s,%s,%s,"%s"\n' "$scenario" $outcome $((SECONDS - began)) \
        "$(paste -sd ';' "$work/shown" | sed 's/;/; /g')" >>"$outcomes"
done
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
