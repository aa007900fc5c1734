# shellcheck shell=bash
# Each scenario is a function that fails with a sentence, and leaves a working release. Sourced by ../kubernetes.sh.
: "${here:?}" "${work:?}" "${target:?}" "${results:?}" "${cluster:?}" "${chart:?}" "${examples:?}"

# The driver's own tests, which act as an invoker outside the cluster: in a namespace of their own, with an invoker's
# permissions.
scenario_driver() {
    BURST_TEST_KUBECONFIG=$KUBECONFIG BURST_TEST_IMAGE=burst.test/burst-runtime:0.1.0 timeout 900 \
        mvn -B -ntp -o -f "$here/../../../pom.xml" -pl invoker -am test -Dtest=KubernetesDriverSuite \
        -Dsurefire.failIfNoSpecifiedTests=false >"$target/logs/driver.log" 2>&1 || {
        grep -E 'ERROR|FAIL' "$target/logs/driver.log" >"$work/said" || true
        complain "the driver does not keep its contract: $target/logs/driver.log"
    }
    shows "the driver's contract: $(grep -o 'Tests run: .*' "$target/logs/driver.log" | tail -n 1 | sed 's/,/ and/g')"
}

scenario_install() {
    local volume=$target/state/volumes/1 began ended
    mkdir -p "$volume"
    chown 65532:65532 "$volume"
    kubectl apply --filename - >/dev/null <<END
apiVersion: v1
kind: PersistentVolume
metadata: {name: volume-1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: $volume}
END
    kubectl create namespace burst >/dev/null
    kubectl label namespace burst pod-security.kubernetes.io/enforce=restricted >/dev/null
    local backends=()
    k create secret generic backends --from-literal=redis=redis://10.213.0.1:6379 \
        --from-literal=s3="$(sed -n '/^s3:/p' "$work/s3.log" 2>/dev/null)" \
        --from-literal=rabbitmq="amqp://burst:tests@10.213.0.1:5672/%2f" >/dev/null
    [ ! -f "$work/s3.log" ] || backends+=(--set "backends.s3.kind=s3,backends.s3.existingSecret=backends,backends.s3.key=s3")
    [ ! -f "$work/rabbitmq.log" ] ||
        backends+=(--set "backends.rabbitmq.kind=rabbitmq,backends.rabbitmq.existingSecret=backends,backends.rabbitmq.key=rabbitmq")
    printf '%s\n' "${backends[@]}" >"$target/state/backends"
    began=$(millis)
    helm install burst "$chart" --namespace burst --values "$here/../cluster/values.yaml" "${backends[@]}" \
        >"$work/said" 2>&1 || complain "helm does not install the chart"
    reach
    until_so 180 burst admin namespace create me --output json || complain "the API does not take a namespace in three minutes"
    grep '^{' "$work/said" >"$target/state/me.json"
    BURST_AUTH=$(jq -r .auth "$target/state/me.json")
    export BURST_AUTH
    until_so 30 burst deploy hello "$examples/hello" --overwrite || complain "a definition is not taken"
    until_so 120 burst flare hello --size 2 --param name=Kubernetes --timeout 60s --result ||
        complain "no flare gives a result"
    ended=$(millis)
    grep --quiet "Hello, Kubernetes, from worker 1 of 2" "$work/said" || complain "the flare's result is not hello's"
    figure install-to-first-result $((ended - began)) ms
    shows "from helm install to the first result: $((ended - began)) ms"
    until_so 120 platform_ready || complain "not all of the release becomes ready"
    for name in burden collectives hostile; do
        burst deploy "$name" "$examples/$name" --overwrite >"$work/said" 2>&1 || complain "$name is not taken"
    done
    helm test burst --namespace burst >"$work/said" 2>&1 || complain "the chart's own test fails"
    shows "helm test passes in a namespace that enforces restricted"
}

scenario_backends() {
    local backend
    for backend in direct $(burst_backends); do
        until_so 90 burst flare collectives --size 8 --granularity 2 --packing homogeneous --backend "$backend" --timeout 60s --result ||
            complain "every operation over $backend, eight workers in packs of two: it fails"
        [ "$(pack_nodes)" = "node-1 node-2" ] || complain "packs are on $(pack_nodes), and not on both nodes"
        shows "every operation of eight workers in packs on both nodes over $backend"
    done
}
burst_backends() { k get configmap burst-controller --output json | jq -r '.data["controller.conf"]' | sed -n 's/^burst.backends."\(.*\)" {$/\1/p'; }

# Prints how a flare of one worker started, and the time from its invocation until its worker ran: "warm 12".
start_of() {
    burst status "$1" --output json |
        jq -r '"\(.packs[0].start) \((.workers[0].started - .created) / 1000 | floor)"'
}
waiting() { [ "$(packs --output json | jq '[.items[] | select(.status.phase == "Running" and .metadata.deletionTimestamp == null)] | length')" -ge 2 ]; }
# bare KIND NAME MOUNTS VOLUMES: records how long a pod takes to start that is not a pack, but has the image and the
# limits of one.
bare() {
    local began
    jq --null-input --arg name "$2" --argjson mounts "$3" --argjson volumes "$4" '{apiVersion: "v1", kind: "Pod",
        metadata: {name: $name}, spec: {restartPolicy: "Never", automountServiceAccountToken: false,
        enableServiceLinks: false, volumes: $volumes,
        securityContext: {runAsNonRoot: true, runAsUser: 2000000000, seccompProfile: {type: "RuntimeDefault"}},
        containers: [{name: "bare", image: "burst.test/burst-runtime:0.1.0", imagePullPolicy: "Never", volumeMounts: $mounts,
            command: ["/usr/bin/python3", "-c", "import time; time.sleep(60)"],
            securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}},
            resources: {limits: {cpu: "150m", memory: "192Mi"}}}]}}' >"$work/bare.json"
    began=$(millis)
    k create --filename "$work/bare.json" >/dev/null
    k wait "pod/$2" --for condition=Ready --timeout 30s >"$work/said" 2>&1 || complain "a bare pod does not start"
    echo "$1,$(($(millis) - began))" >>"$results/starts.csv"
    k delete pod "$2" --grace-period 0 --force >/dev/null 2>&1
}
scenario_starts() {
    local round id
    printf 'start,millis\n' >"$results/starts.csv"
    burst deploy fresh "$examples/hello" --overwrite >/dev/null
    for round in $(seq 8); do
        bare "bare-pod" "bare-$round" '[]' '[]'
        bare "bare-pod-with-volumes" "bare-with-$round" '[{"name": "token", "mountPath": "/token"}, {"name": "tmp", "mountPath": "/tmp"}]' \
            '[{"name": "token", "secret": {"secretName": "backends"}}, {"name": "tmp", "emptyDir": {}}]'
        # Pods belong to one definition: a new one can use only waiting pods, of which there is one per invoker.
        burst deploy "fresh-$round" "$examples/hello" --overwrite >/dev/null
        until_so 30 waiting || complain "no pods wait"
        sleep 3
        for _ in 1 2 3; do
            id=$(flare "fresh-$round" --param name=one)
            until_so 90 ended "$id" || complain "a flare of one worker does not end"
            start_of "$id" | tr ' ' ',' >>"$results/starts.csv"
        done
        # Takes all waiting pods at the same time, and needs more than those.
        id=$(flare "fresh-$round" --size 8 --granularity 1 --packing homogeneous --param name=many)
        until_so 60 ended "$id" || complain "a flare of eight packs does not end"
        burst status "$id" --output json | jq -r '.created as $created | .packs[] as $pack | select($pack.start == "cold") |
            "cold-of-eight,\(([.workers[] | select(.pack == $pack.pack).started] | min) - $created | . / 1000 | floor)"' >>"$results/starts.csv"
        packs --output name | xargs -r kubectl --namespace burst delete --grace-period 0 --force >/dev/null 2>&1
        id=$(flare "fresh-$round" --param name=cold --retries 2)
        until_so 60 ended "$id" || complain "a flare does not end where all pods were deleted before it"
        start_of "$id" | tr ' ' ',' >>"$results/starts.csv"
        burst delete "fresh-$round" >/dev/null
    done
    local kind
    for kind in bare-pod bare-pod-with-volumes cold cold-of-eight prewarmed warm; do
        local median count
        count=$(grep -c "^$kind," "$results/starts.csv" || true)
        [ "$count" -gt 0 ] || { shows "$kind: none seen"; continue; }
        median=$(grep "^$kind," "$results/starts.csv" | cut -d, -f2 | sort -n | sed -n "$(((count + 1) / 2))p")
        figure "start-$kind" "$median" "ms (median of $count)"
        shows "$kind: $median ms (median of $count)"
    done
}

scenario_gangs() {
    local ids=() id size began
    began=$(millis)
    for size in 8 4 8 6 2 8 5 3; do
        ids+=("$(flare burden --size $size --granularity 2 --param sleep=500 --timeout 60s)")
    done
    for id in "${ids[@]}"; do
        until_so 120 ended "$id" || complain "a gang waits for ever: $id"
        is "$id" succeeded || complain "a gang fails under contention: $(error_of "$id")"
    done
    figure eight-gangs-of-44-workers-on-8-slots $(($(millis) - began)) ms
    shows "eight gangs of 2 to 8 workers that want 44 workers of 8 slots at once: all succeed in $(($(millis) - began)) ms"
}

scenario_cancel() {
    local id
    id=$(flare burden --size 8 --granularity 4 --param sleep=120000 --timeout 3m)
    until_so 120 is "$id" running || complain "the flare does not run"
    burst cancel "$id" >"$work/said" 2>&1 || complain "it is not cancelled"
    until_so 15 is "$id" cancelled || complain "it is $(state_of "$id") and not cancelled"
    all_slots 60 || complain "its slots are not free again"
    shows "a flare is cancelled and its slots run others"
}

scenario_out_of_memory() {
    local id
    echo '{"steps": [{"do": "touch", "mebibytes": 900, "each": 8}]}' >"$work/hoard.json"
    id=$(flare hostile --size 1 --param-file "$work/hoard.json" --memory 128M --timeout 60s)
    until_so 60 ended "$id" || complain "what takes more memory than it has does not end"
    is "$id" failed || complain "what takes more memory than it has is $(state_of "$id")"
    error_of "$id" >"$work/said"
    grep --quiet -i 'memory' "$work/said" || complain "the error does not speak of memory"
    shows "$(cut -c1-200 "$work/said")"
    all_slots 60 || complain "its slots are not free again"
}

# lost ID: checks that the flare has failed as pack-lost.
lost() {
    until_so 60 ended "$1" || complain "the flare does not end"
    error_of "$1" >"$work/said"
    grep --quiet 'pack-lost' "$work/said" || complain "it is $(state_of "$1"), and not failed as pack-lost"
}

scenario_pod_deleted() {
    local id
    id=$(flare burden --size 8 --granularity 2 --param sleep=60000 --timeout 2m)
    until_so 120 is "$id" running || complain "the flare does not run"
    k delete pods --selector app.kubernetes.io/name=burst-pack --wait=false >/dev/null
    lost "$id"
    shows "pods of packs deleted: $(cut -c1-160 "$work/said")"
    id=$(flare burden --size 8 --granularity 2 --param sleep=5000 --timeout 2m --retries 2)
    until_so 120 is "$id" running || complain "the flare does not run"
    k delete pods --selector app.kubernetes.io/name=burst-pack --wait=false >/dev/null
    until_so 90 is "$id" succeeded || complain "with retries it is $(state_of "$id"): $(error_of "$id")"
    shows "with --retries it is run again and succeeds"
}

scenario_invoker_killed() {
    local id began
    id=$(flare burden --size 8 --granularity 2 --param sleep=60000 --timeout 2m)
    until_so 120 is "$id" running || complain "the flare does not run"
    began=$(millis)
    k delete pod burst-invoker-0 --grace-period 0 --force >/dev/null 2>&1
    until_so 90 ended "$id" || complain "the flare of a killed invoker does not end"
    error_of "$id" >"$work/said"
    shows "an invoker killed, its flare: $(cut -c1-160 "$work/said") after $(($(millis) - began)) ms"
    all_slots 180 || complain "not all slots are back after an invoker was killed"
    figure invoker-killed-to-all-slots $(($(millis) - began)) ms
    shows "all slots run again after $(($(millis) - began)) ms"
    until_so 90 owned || complain "packs of an invoker's pod that is gone are still there"
    shows "no pack is left of the invoker's pod that is gone after $(($(millis) - began)) ms"
}
# Succeeds if every pack belongs to an existing invoker's pod.
owned() {
    local pods
    pods=$(k get pods --output json)
    jq --exit-status '[.items[].metadata.uid] as $there | [.items[] | select(.metadata.labels["app.kubernetes.io/name"] == "burst-pack")
        | select((.metadata.ownerReferences[0].uid as $owner | $there | index($owner)) == null)] | length == 0' <<<"$pods"
}

scenario_controller_killed() {
    local id began
    id=$(flare burden --size 4 --granularity 2 --param sleep=60000 --timeout 3m)
    until_so 120 is "$id" running || complain "the flare does not run"
    began=$(millis)
    k delete pod burst-controller-0 --grace-period 0 --force >/dev/null 2>&1
    sleep 2
    until_so 180 burst flare hello --size 4 --granularity 2 --param name=next --timeout 20s --result ||
        complain "flares do not run again after the controller was killed"
    figure controller-killed-to-next-flare $(($(millis) - began)) ms
    shows "the only controller killed, its pod made anew: its definitions are there and the next flare has run after $(($(millis) - began)) ms"
    until_so 180 ended "$id" || complain "a flare whose only controller was killed has no end"
    shows "the flare that ran meanwhile is $(state_of "$id") ($(error_of "$id" | cut -c1-120))"
    is "$id" succeeded || complain "it did not go on"
    all_slots 60 || complain "not all slots run again after the controller was killed"
}

# Prints the slots of all invokers that are up, as the scheduler reports them.
slots_now() { burst invokers --output json | jq '[.. | objects | select(.state? == "up") | .slots] | add // 0'; }
slots_are() { [ "$(slots_now)" = "$1" ]; }
slots_below() { local now; now=$(slots_now) && [ "$now" -lt "$1" ]; }
reason_of() { burst status "$1" --output json | jq -r '.queue.reason // ""'; }
waits_for_room() { reason_of "$1" | grep "the cluster can give .* slots now, and the flare needs $2"; }

# tenant REPLICAS CPU: runs pods of another tenant, each on a different node.
tenant() {
    kubectl create namespace tenant >/dev/null 2>&1 || true
    kubectl --namespace tenant apply --filename - >/dev/null <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: tenant}
spec:
  replicas: $1
  selector: {matchLabels: {app: tenant}}
  template:
    metadata: {labels: {app: tenant}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: pause, image: "burst.test/pause:1", imagePullPolicy: Never, resources: {requests: {cpu: $2}}}
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: tenant}}}
END
}
release_with() {
    local backends
    mapfile -t backends < <(grep . "$target/state/backends")
    helm upgrade burst "$chart" --namespace burst --values "$here/../cluster/values.yaml" "${backends[@]}" --wait \
        --timeout 5m "$@" >"$work/said" 2>&1 || complain "helm does not upgrade the release"
    until_so 120 platform_ready || complain "the release is not ready after the upgrade"
}

# Prints the phase and the node of each, one per line.
demand_pods() { k get pods -l burst.demand --output json | jq -r '.items[] | "\(.status.phase) \(.spec.nodeName // "nowhere")"'; }
demand_is_pending() { [ "$(demand_pods | sort -u)" = "Pending nowhere" ] && [ -n "$(demand_reason)" ]; }
demand_is_gone() { [ -z "$(demand_pods)" ]; }
demand_reason() { k get pods -l burst.demand --output json | jq -r '[.items[].status.conditions[]? | select(.reason == "Unschedulable") | .message][0] // ""'; }

scenario_slots() {
    local all one large first second began
    release_with --set invoker.slots=cluster
    # Each invoker has the free capacity of one node.
    until_so 60 burst flare hello --size 2 --param name=cluster --timeout 20s --result || complain "no flare runs"
    sleep 3
    all=$(slots_now)
    [ "$all" -gt 8 ] || complain "two nodes have $all slots"
    shows "two nodes of two processors have $all slots for packs of 0.15 each"

    began=$(millis)
    tenant 2 700m
    until_so 60 slots_are $((all - 10)) || complain "slots do not shrink by what a tenant takes: $(slots_now) of $all"
    figure tenant-to-fewer-slots $(($(millis) - began)) ms
    shows "a tenant's pods that request 1.4 processors take $((all - $(slots_now))) of them, seen after $(($(millis) - began)) ms"
    large=$(flare burden --size "$all" --param sleep=500 --timeout 60s)
    until_so 20 waits_for_room "$large" "$all" || complain "it does not say why it waits: $(reason_of "$large")"
    shows "a flare of $all waits: $(reason_of "$large")"
    until_so 20 demand_is_pending || complain "autoscalers see nothing of it: $(demand_pods)"
    shows "$(demand_pods | wc -l) pods show autoscalers what waits, of which Kubernetes says: $(demand_reason)"
    began=$(millis)
    kubectl --namespace tenant delete deployment tenant >/dev/null
    until_so 90 is "$large" succeeded || complain "it does not run when there is room: $(state_of "$large") $(error_of "$large")"
    figure room-to-large-flare-done $(($(millis) - began)) ms
    until_so 20 demand_is_gone || complain "pods for what waited are left: $(demand_pods)"
    shows "it runs once the tenant has gone, done after $(($(millis) - began)) ms"

    kubectl cordon node-2 >/dev/null
    until_so 30 slots_below "$all" || complain "a node that is cordoned keeps its slots"
    one=$(slots_now)
    kubectl uncordon node-2 >/dev/null
    until_so 30 slots_are "$all" || complain "a node that is uncordoned does not give its slots: $(slots_now) of $all"
    shows "with a node cordoned there are $one, and $all when it is back"

    # Two flares that each need all slots, while a tenant takes half of them at an arbitrary moment.
    first=$(flare burden --size "$all" --granularity 2 --param sleep=1000 --timeout 90s)
    second=$(flare burden --size "$all" --granularity 2 --param sleep=1000 --timeout 90s)
    tenant 2 700m
    sleep 15
    kubectl --namespace tenant delete deployment tenant >/dev/null
    for large in "$first" "$second"; do
        until_so 180 ended "$large" || complain "a gang waits for ever: $large: $(reason_of "$large")"
        is "$large" succeeded || complain "a gang fails: $(error_of "$large")"
    done
    shows "two gangs of $all and a tenant that takes half meanwhile: both run, after $(burst status "$first" --output json | jq .attempt) and $(burst status "$second" --output json | jq .attempt) placings"
    kubectl delete namespace tenant --wait=false >/dev/null
    release_with
    all_slots 120 || complain "not all slots run with a number again"
}

# Moves the controller to the node that stays.
controller_on_node_1() {
    [ "$(node_of burst-controller-0)" != node-1 ] || return 0
    kubectl cordon node-2 >/dev/null
    k delete pod burst-controller-0 >/dev/null
    until_so 180 ready burst-controller-0 || complain "the controller does not come up on the other node"
    kubectl uncordon node-2 >/dev/null
}

node_not_ready() { [ "$(kubectl get node "$1" --output json | jq -r '.status.conditions[] | select(.type == "Ready").status')" != True ]; }
spread() { [ "$(node_of burst-invoker-0)" != "$(node_of burst-invoker-1)" ]; }

scenario_node_killed() {
    local id began
    controller_on_node_1
    all_slots 180 || complain "not all slots run once the controller has moved"
    id=$(flare burden --size 8 --granularity 1 --packing homogeneous --param sleep=200000 --timeout 4m)
    until_so 120 is "$id" running || complain "the flare does not run"
    [ "$(pack_nodes)" = "node-1 node-2" ] || complain "packs are on $(pack_nodes) only"
    began=$(millis)
    "$cluster" stop-node 2
    until_so 120 ended "$id" || complain "a flare does not end whose node was killed"
    is "$id" failed || complain "a flare whose node was killed is $(state_of "$id")"
    figure node-killed-to-flare-ended $(($(millis) - began)) ms
    shows "a node killed: its flare ends after $(($(millis) - began)) ms: $(error_of "$id" | cut -c1-160)"
    until_so 90 node_not_ready node-2 || complain "Kubernetes does not notice the node that was killed"
    kubectl taint node node-2 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute >/dev/null
    until_so 120 gone_from node-2 || complain "pods of the killed node are not given up"
    until_so 180 platform_ready || complain "the invoker of the killed node does not come up on the other"
    until_so 120 burst flare hello --size 4 --granularity 2 --param name=left --timeout 20s --result ||
        complain "flares do not run on the node that is left"
    figure node-killed-to-flares-on-the-other $(($(millis) - began)) ms
    shows "taken out of service, all of the release is on the other node and flares run after $(($(millis) - began)) ms"
    "$cluster" start-node 2
    until_so 120 kubectl wait --for=condition=Ready node/node-2 --timeout 1s || complain "the node does not come back"
    kubectl taint node node-2 node.kubernetes.io/out-of-service- >/dev/null
    all_slots 180 || complain "not all slots run when the node is back"
    shows "the node is back and all slots run"
}
gone_from() { [ "$(k get pods --field-selector "spec.nodeName=$1" --output name | wc -l)" = 0 ]; }

scenario_drain() {
    local id began
    controller_on_node_1
    if spread; then :; else
        k delete pod "$([ "$(node_of burst-invoker-0)" = node-1 ] && echo burst-invoker-0 || echo burst-invoker-1)" >/dev/null
    fi
    until_so 120 platform_ready || complain "the release is not ready before the drain"
    all_slots 120 || complain "not all slots run before the drain"
    id=$(flare burden --size 4 --granularity 1 --packing homogeneous --param sleep=8000 --timeout 2m --retries 3)
    until_so 120 is "$id" running || complain "the flare does not run"
    began=$(millis)
    kubectl drain node-2 --ignore-daemonsets --force --delete-emptydir-data --timeout 120s >"$work/said" 2>&1 ||
        complain "the node is not drained in two minutes"
    figure drain $(($(millis) - began)) ms
    shows "a node is drained in $(($(millis) - began)) ms"
    gone_from node-2 || complain "pods are left on the drained node"
    until_so 180 is "$id" succeeded || complain "a flare with --retries is $(state_of "$id"): $(error_of "$id")"
    shows "the flare that ran there is run again on the other node"
    kubectl uncordon node-2 >/dev/null
    until_so 120 platform_ready || complain "the release is not ready after the drain"
    all_slots 120 || complain "not all slots run after the drain"
}

# Runs flares one after another until the file exists, and prints the outcome of each.
load() {
    while [ ! -e "$work/enough" ]; do
        if burst flare burden --size 2 --param sleep=200 --timeout 30s --retries 3 --result >"$work/load.said" 2>&1; then
            echo "$(millis) succeeded"
        else
            echo "$(millis) failed $(tail -n 1 "$work/load.said" | cut -c1-120)"
            sleep 0.5
        fi
    done
}
under_load() {
    rm -f "$work/enough"
    load >"$work/load" &
    local loader=$! outcome=0
    sleep 3
    "$@" || outcome=$?
    touch "$work/enough"
    wait $loader || true
    return $outcome
}
succeeded_in_load() { grep -c succeeded "$work/load" || true; }
failed_in_load() { grep -c failed "$work/load" || true; }
# The longest time between two flares that succeeded.
gap_of_load() { awk '$2 == "succeeded" {if (last && $1 - last > most) most = $1 - last; last = $1} END {print most + 0}' "$work/load"; }

upgrade() {
    local backends
    mapfile -t backends < <(grep . "$target/state/backends")
    helm upgrade burst "$chart" --namespace burst --values "$here/../cluster/values.yaml" "${backends[@]}" --wait \
        --timeout 5m --set controller.logLevel="$1",invoker.logLevel="$1" >"$work/said" 2>&1 ||
        complain "helm does not upgrade the release"
    until_so 120 platform_ready || complain "the release is not ready after the upgrade"
    sleep 5
}
scenario_upgrade() {
    local began key
    key=$(k get secret burst-cluster-key --output json | jq -r '.data["cluster.pem"]')
    began=$(millis)
    under_load upgrade DEBUG || exit 1
    shows "helm upgrade that replaces all pods, under load: $(succeeded_in_load) flares succeed and $(failed_in_load) calls fail; $(gap_of_load) ms without a result at most"
    figure upgrade-longest-without-result "$(gap_of_load)" ms
    [ "$key" = "$(k get secret burst-cluster-key --output json | jq -r '.data["cluster.pem"]')" ] ||
        complain "the upgrade makes another key"
    all_slots 120 || complain "not all slots run after the upgrade"
}

kill_at_random() {
    local victims=(burst-controller-0 burst-invoker-0 burst-invoker-1) victim number
    RANDOM=${SEED:-1}
    # Each once, then any.
    for number in 0 1 2 3 4 5; do
        victim=${victims[number < 3 ? number : RANDOM % 3]}
        k delete pod "$victim" --grace-period 0 --force >/dev/null 2>&1 || true
        echo "$victim" >>"$work/victims"
        sleep $((5 + RANDOM % 15))
    done
    until_so 180 platform_ready || complain "the release is not ready after the kills"
    sleep 5
}
scenario_kills() {
    : >"$work/victims"
    under_load kill_at_random || exit 1
    shows "killed at random moments: $(sort "$work/victims" | uniq -c | awk '{printf "%s %s times, ", $2, $1}')$(succeeded_in_load) flares succeed meanwhile and $(failed_in_load) calls fail"
    all_slots 180 || complain "not all slots run after the kills"
    until_so 60 owned || complain "packs of pods that are gone are still there"
    until_so 60 nobody_runs || complain "flares are left that nobody runs"
}
nobody_runs() { ! burst flares --output json | jq -r '.. | .state? // empty' | grep -qE '^(running|queued|starting)$'; }

# reaches NAMESPACE TARGET…: prints which targets a pod there, with the interpreters of packs, can connect to.
reaches() {
    kubectl --namespace "$1" exec stranger -- python3 -c "
import socket, sys
for target in sys.argv[1:]:
    name, host, port = target.split(',')
    try:
        socket.create_connection((host, int(port)), 3).close()
        print(name, 'reached')
    except OSError as error:
        print(name, 'refused')
" "${@:2}"
}
address_of() { k get pods --selector "app.kubernetes.io/name=burst-$1" --output jsonpath='{.items[0].status.podIP}'; }
scenario_policies() {
    local controller invoker pack said
    all_slots 60 || complain "not all slots run"
    kubectl create namespace strangers >/dev/null 2>&1 || true
    kubectl --namespace strangers run stranger --image burst.test/burst-runtime:0.1.0 --image-pull-policy Never \
        --restart Never --command -- python3 -c "import time; time.sleep(600)" >/dev/null
    kubectl --namespace strangers wait pod/stranger --for condition=Ready --timeout 30s >/dev/null
    controller=$(address_of controller)
    invoker=$(address_of invoker)
    pack=$(address_of pack)
    said=$(reaches strangers "api,$controller,3233" "controller,$controller,2552" "invoker,$invoker,2552" \
        "pack,$pack,8080" "names,10.215.0.10,53" | paste -sd ' ')
    kubectl delete namespace strangers --wait=false >/dev/null
    [ "$said" = "api reached controller refused invoker refused pack refused names reached" ] ||
        complain "a stranger's pod: $said"
    shows "a pod of another namespace reaches the API and none of the ports of controllers, invokers and packs"
    cat >"$work/look.py" <<'END'
import socket


def main(targets):
    found = []
    for name, (host, port) in sorted(targets.items()):
        try:
            socket.create_connection((host, port), 3).close()
            found.append(name + " reached")
        except OSError:
            found.append(name + " refused")
    return {"found": " ".join(found)}
END
    burst deploy look "$work/look.py" --overwrite >"$work/said" 2>&1 || complain "a function of Python is not taken"
    until_so 60 burst flare look --param "api=[\"$controller\", 3233]" --param "kubernetes=[\"10.213.0.1\", 6443]" \
        --param "service=[\"10.215.0.1\", 443]" --param "redis=[\"10.213.0.1\", 6379]" --param "etcd=[\"10.213.0.1\", 2379]" \
        --param "node=[\"10.213.0.12\", 10250]" --param "pack=[\"$pack\", 8080]" --result || complain "a pack does not look"
    grep --quiet "api refused etcd refused kubernetes refused node refused pack refused redis reached service refused" \
        "$work/said" || complain "a pack reaches other than it should"
    shows "a pack reaches its backends, and neither the API server nor a kubelet nor Burst's API nor another pack's order port"
}

left() {
    k get all,secrets,configmaps,persistentvolumeclaims,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets \
        --output name 2>/dev/null | grep -vE '^(configmap/kube-root-ca.crt|serviceaccount/default|secret/backends)$'
    kubectl get clusterroles,clusterrolebindings --selector app.kubernetes.io/instance=burst --output name 2>/dev/null
}
nothing_left() { [ -z "$(left)" ]; }
scenario_uninstall() {
    all_slots 60 || complain "not all slots run"
    k scale statefulset/burst-invoker --replicas 0 >/dev/null
    k wait --for=delete pod --selector app.kubernetes.io/name=burst-pack --timeout 2m >"$work/said" 2>&1 ||
        complain "packs are left when invokers have stopped"
    helm uninstall burst --namespace burst --wait --timeout 2m >"$work/said" 2>&1 || complain "helm does not uninstall"
    until_so 60 nothing_left || complain "this is left: $(left | paste -sd ' ')"
    shows "helm uninstall leaves nothing of the release in its namespace"
    kubectl delete namespace burst --timeout 60s >"$work/said" 2>&1 || complain "the namespace does not go"
    kubectl delete persistentvolume volume-1 >/dev/null
    rm -rf "$target/state/volumes/1"
}
