#!/usr/bin/env bash
# Calls a platform, started for this purpose, in every way its description allows, and in many that it does
# not, with a fixed seed. Fails if an answer is a 5xx or contradicts the description.
set -euo pipefail
cd "$(dirname "$0")/../.."
root="$PWD"
examples="${1:-100}"
venv="$root/target/fuzz/venv"
mkdir -p target/fuzz
scratch="$(mktemp -d "$root/target/fuzz/run-XXXXXX")"

if ! cmp -s tests/fuzz/requirements.txt "$venv/installed"; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --requirement tests/fuzz/requirements.txt
    cp tests/fuzz/requirements.txt "$venv/installed"
fi

BURST_ADMIN_KEY="$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"
export BURST_ADMIN_KEY
# A rate that no run uses up: a 429 would hide other answers.
dist/bin/burst standalone --port 0 --slots 4 --data "$scratch/data" \
    --set burst.limits.flares-per-minute=1000000 >"$scratch/log" 2>&1 &
platform=$!
stop() {
    kill "$platform" 2>/dev/null || true
    wait "$platform" 2>/dev/null || true
    rm -rf "$scratch"
}
trap stop EXIT
for _ in $(seq 600); do
    grep -q '^burst is ready on ' "$scratch/log" && break
    kill -0 "$platform" 2>/dev/null || { cat "$scratch/log" >&2; exit 1; }
    sleep 0.1
done
address="$(sed -n 's/^burst is ready on //p' "$scratch/log")"
auth="$(sed -n 's/^AUTH=//p' "$scratch/data/properties")"
export BURST_FUZZ_USER="${auth%%:*}" BURST_FUZZ_KEY="${auth#*:}"

# Objects for calls that need existing ones: a definition that takes any input, a flare, a group to run flares
# on and one to close.
burst() { dist/bin/burst "$@" --apihost "$address" --auth "$auth"; }
id() { sed -n "s/.*\"$1\": *\"\([0-9a-f]*\)\".*/\1/p" | head -n 1; }
burst deploy known dist/examples/noop >/dev/null
burst action update known --web true >/dev/null
burst api create /known /call get known --response-type json >/dev/null
BURST_FUZZ_TENANT="$(printf guest | sha256sum | cut -c 1-32)"
export BURST_FUZZ_TENANT
BURST_FUZZ_FLARE="$(burst flare known --size 1 --output json | id flareId)"
BURST_FUZZ_GROUP="$(burst group open known --size 1 --idle-timeout 1h --output json | id groupId)"
BURST_FUZZ_OTHER_GROUP="$(burst group open known --size 1 --idle-timeout 1h --output json | id groupId)"
export BURST_FUZZ_FLARE BURST_FUZZ_GROUP BURST_FUZZ_OTHER_GROUP

# Not checked: that a call which violates the description is refused (names may be stricter or laxer than a
# pattern can express), that a valid one is accepted (packages must also be programs), and that deleted
# objects are gone (a revoked namespace is still shown).
# It writes notes to its working directory.
cd "$scratch"
"$venv/bin/schemathesis" --config-file "$root/tests/fuzz/schemathesis.toml" run "$address/api/v1/openapi.yaml" \
    --url "$address" --phases examples,coverage,fuzzing,stateful --max-examples "$examples" --seed 1 \
    --generation-deterministic --continue-on-failure \
    --exclude-checks negative_data_rejection,positive_data_acceptance,use_after_free --no-color
