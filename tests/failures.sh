#!/usr/bin/env bash
# Prints at the end what failed, which would otherwise be scattered over the output of `make test`: for each failed
# suite, the output of its failed tests, or its last lines. Takes a directory with NAME.log of each suite, and
# NAME.failed of the failed ones.
set -euo pipefail

directory=$1
# The maximum bytes per suite: the rest is in its log.
most=20000

# Failures as libtest and munit print them.
told() {
  awk '
    /^failures:$/ { rust = 1 }
    rust { print }
    /^test result: FAILED/ { rust = 0; print "" }
    /^==> X / { munit = 30 }
    munit-- > 0 { print }
  ' "$1"
}

shopt -s nullglob
for failed in "$directory"/*.failed; do
  log=${failed%.failed}.log
  echo
  echo "=== failed: make test-$(basename "$log" .log), all of it in $log"
  said=$(told "$log")
  if [ -n "$said" ]; then head -c "$most" <<<"$said"; else tail -40 "$log"; fi
done
