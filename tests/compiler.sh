#!/usr/bin/env bash
# Compiles the workspace's own crates for tests; cargo calls it in place of rustc: lints and code generation in one, with
# the checks and without the optimization of a debug build. Libraries are not compiled by it: they are the release
# build's, which are thus compiled only once. Needs bash: dash drops CARGO_BIN_EXE_*, if the program's name has a hyphen.
# Cargo does not notice a change of this file: run `make clean` after it.
exec clippy-driver "$@" -C opt-level=0 -C codegen-units=16 -C debug-assertions=on -C overflow-checks=on \
    -C debuginfo=line-tables-only -C strip=none
