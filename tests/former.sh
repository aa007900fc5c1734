#!/usr/bin/env bash
# Builds the platform of an earlier commit with that commit's own Makefile: tests/former.sh COMMIT
# DIRECTORY
# The distribution is then in DIRECTORY/dist. An existing build of the same commit is reused.
set -euo pipefail

commit=$(git rev-parse --verify "$1^{commit}")
directory=$2

if [ "$(cat "$directory/commit" 2>/dev/null)" = "$commit" ]; then
  exit 0
fi
rm -rf "$directory"
mkdir -p "$directory"
git archive "$commit" | tar --extract --directory "$directory"
make --directory "$directory" --no-print-directory build
echo "$commit" >"$directory/commit"
