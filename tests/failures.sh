#!/usr/bin/env bash
# Says at the end what failed, which else stands somewhere in what `make test` has written: of each suite that failed
# what its tests have said, or its last lines. Takes a directory with NAME.log of each suite, and NAME.failed of these.
set -euo pipefail

directory=$1
# Bytes of a suite: who wants more has its log.
most=20000

# As libtest and munit tell them.
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
