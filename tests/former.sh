#!/usr/bin/env bash
# Builds the platform as it was at a commit, with that commit's own means: tests/former.sh COMMIT DIRECTORY
# Its distribution is DIRECTORY/dist then. What was built there of the same commit is taken as it is.
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
