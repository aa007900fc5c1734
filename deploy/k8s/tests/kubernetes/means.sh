# shellcheck shell=bash
# Functions that scenarios use. Sourced by ../kubernetes.sh, which has set the paths.
: "${here:?}" "${work:?}" "${target:?}" "${results:?}" "${processes=}"

k() { kubectl --namespace burst "$@"; }

# complain SENTENCE: fails the scenario with this sentence, and prints the last output.
complain() {
    echo "   $1" >&2
    [ ! -s "$work/said" ] || tail -n 15 "$work/said" | cut -c1-400 >&2
    echo "failed: $1" | tr -d '",;' >>"$work/shown"
    exit 1
}

# shows SENTENCE: prints an observation, and adds it to the results.
shows() {
    echo "   $1"
    tr -d '",;' <<<"$1" >>"$work/shown"
}

# until_so SECONDS COMMAND…: repeats a command until it succeeds, or fails after this time. Its output
# is in $work/said.
until_so() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >"$work/said" 2>&1; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.2
    done
}

millis() { date +%s%3N; }

# figure NAME VALUE UNIT: records a measurement.
figure() {
    touch "$results/figures.csv"
    grep -q '^figure,' "$results/figures.csv" || printf 'figure,value,unit\n' >>"$results/figures.csv"
    sed -i "/^$1,/d" "$results/figures.csv"
    printf '%s,%s,%s\n' "$1" "$2" "$3" >>"$results/figures.csv"
}

# Sets the CLI's API host and credentials, from the release.
known() {
    reach
    BURST_AUTH=$(jq -r .auth "$target/state/me.json")
    export BURST_AUTH
}
reach() {
    BURST_APIHOST=http://$(k get service burst --output jsonpath='{.spec.clusterIP}'):3233
    BURST_ADMIN_AUTH=admin:$(k get secret burst-admin --output jsonpath='{.data.admin-key}' | base64 --decode)
    export BURST_APIHOST BURST_ADMIN_AUTH
}

# flare ARGUMENT…: submits a flare and prints its id.
flare() { burst flare "$@" | grep -oE '[0-9a-f]{32}' | head -n 1; }
state_of() { burst status "$1" --output json | jq -r .state; }
is() { [ "$(state_of "$1")" = "$2" ]; }
# ended ID: succeeds if the flare has ended.
ended() { case $(state_of "$1") in succeeded | failed | cancelled | timed-out) ;; *) return 1 ;; esac; }
error_of() { burst status "$1" --output json | jq -r '[.error, .workers[].error] | map(select(. != null) | if type == "object" then "\(.kind): \(.message)" else . end) | unique | join(" | ")'; }

# all_slots SECONDS: succeeds if every slot of both invokers can run a worker again within this time.
all_slots() { until_so "$1" burst flare hello --size 8 --granularity 2 --param name=all --timeout 20s --result; }

packs() { k get pods --selector app.kubernetes.io/name=burst-pack "$@"; }
# Prints the nodes with packs that run or have run a flare: idle ones request less memory.
pack_nodes() {
    packs --output json | jq -r '[.items[] | select(.status.phase == "Running" and .metadata.deletionTimestamp == null)
        | select((.spec.containers[0].resources.requests.memory | tonumber) > 201326592) | .spec.nodeName] | unique | join(" ")'
}
node_of() { k get pod "$1" --output jsonpath='{.spec.nodeName}'; }
ready() { [ "$(k get pods "$@" --output json | jq '[(.items // [.])[] | select(.metadata.deletionTimestamp == null) | .status.conditions[]? | select(.type == "Ready" and .status == "True")] | length')" = $# ]; }
platform_ready() { ready burst-controller-0 burst-invoker-0 burst-invoker-1; }

# background NAME COMMAND…: runs a command in a session of its own until the script ends.
background() {
    local name=$1
    shift
    setsid "$@" >"$work/$name.log" 2>&1 &
    processes+=($!)
}

# The backend servers run on the API server's side: from the packs' point of view, outside the cluster.
backends_run() {
    background redis redis-server --bind 10.213.0.1 --protected-mode no --save "" --dir "$work"
    until_so 10 redis-cli -h 10.213.0.1 ping || complain "Redis does not answer"
    if [ -n "${S3_SERVER:-}" ]; then
        mkfifo "$work/s3-held"
        background s3 sh -c "exec '$S3_SERVER' 10.213.0.1 <>'$work/s3-held'"
        until_so 10 grep --quiet '^s3://' "$work/s3.log" || complain "the S3 server does not start"
    fi
    if [ -z "${NO_RABBITMQ:-}" ] && command -v rabbitmq-server >/dev/null; then rabbitmq_runs; fi
}
rabbitmq_runs() {
    # Debian's command switches to a user of its own.
    rabbitmq=$(mktemp -d)
    echo '[rabbitmq_management].' >"$rabbitmq/enabled_plugins"
    cat >"$rabbitmq/rabbitmq.conf" <<END
listeners.tcp.default = 10.213.0.1:5672
default_user = burst
default_pass = tests
loopback_users = none
log.console = true
management.tcp.ip = 10.213.0.1
management.tcp.port = 15672
END
    chmod -R a+rX "$rabbitmq"
    ! id rabbitmq >/dev/null 2>&1 || chown -R rabbitmq "$rabbitmq"
    background rabbitmq env HOME="$rabbitmq" RABBITMQ_NODENAME=tests@localhost RABBITMQ_CONFIG_FILE="$rabbitmq/rabbitmq.conf" \
        RABBITMQ_MNESIA_BASE="$rabbitmq" RABBITMQ_LOG_BASE="$rabbitmq" \
        RABBITMQ_ENABLED_PLUGINS_FILE="$rabbitmq/enabled_plugins" ERL_EPMD_PORT=14369 rabbitmq-server
    until_so 90 curl --silent --fail --user burst:tests http://10.213.0.1:15672/api/overview || {
        cp "$work/rabbitmq.log" "$work/said"
        complain "RabbitMQ does not answer"
    }
}
rabbitmq_ended() { ! pgrep --full "$rabbitmq/rabbitmq.conf"; }
