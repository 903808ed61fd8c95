#!/usr/bin/env bash
# The engine's tests with a libllama built from the source of each version that Cairn is tried with, in a
# copy of this tree for each, in build/llama-VERSION; then a server of each on the same folder of states:
# it must take its own and leave the others'. Half an hour for each version on two cores; a second run
# builds what changed. Usage: scripts/llama_versions.sh [--fetch|--compile] [VERSION...]
#   --fetch    only the sources of each version, for --compile
#   --compile  only the engine's files, against the headers of each version: half a minute
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/host_tools.sh
source scripts/lib/host_tools.sh
# shellcheck source=scripts/lib/llama_source.sh
source scripts/lib/llama_source.sh
# shellcheck source=scripts/lib/kernels.sh
source scripts/lib/kernels.sh
# shellcheck source=scripts/lib/sources.sh
source scripts/lib/sources.sh
# shellcheck source=scripts/made_server.sh
source scripts/made_server.sh

readonly PREFIX="$ROOT/.deps/prefix" # of fetch_llama and of the headers of other libraries
readonly TESTS="llama_backend_test llama_texts_test llama_engine_test llama_media_test"
readonly STATES="$ROOT/build/llama-states"
readonly WORDS='{"role": "user", "content": "What is a cairn, and what is it built of? Say it in few words."}'

# Files keep their times, so that a second run builds only what changed.
copy_tree() {
  mkdir -p "$1"
  git ls-files --cached --others --exclude-standard | while_present | tar -c -T - | tar -x -C "$1"
}

# try_version VERSION: builds it and runs the tests. It must be the version that was asked for.
try_version() {
  local tree="build/llama-$1" name
  copy_tree "$tree"
  CAIRN_LLAMA="source:$1" "$tree/scripts/setup.sh"
  # One test a word.
  # shellcheck disable=SC2086
  "$tree/scripts/build.sh" --no-page cairn cairn-lab $TESTS
  "$tree/build/cairn" --version | grep "libllama $1" || fail "build/cairn is not of libllama $1"
  (
    cd "$tree"
    ROOT="$PWD"
    use_kernels_that_keep_bits
    for name in $TESTS; do "build/src/engine/$name" --gtest_brief=1; done
  )
}

# cached_by VERSION: how much of the words a server of it takes from the folder of states.
cached_by() {
  MADE_SERVER_PROGRAM=("build/llama-$1/build/cairn")
  run_server "$STATES/log-$1" -m "$STATES/model.gguf" --cache-dir "$STATES/cache"
  cached_tokens "$(ask_made_server "$WORDS")" >"$STATES/cached"
  stop_made_server
}

# expect_cached VERSION none|some
expect_cached() {
  local cached
  cached_by "$1"
  cached="$(<"$STATES/cached")"
  [[ "$cached" == 0 && "$2" == none || "$cached" != 0 && "$2" == some ]] ||
    fail "a server of libllama $1 took $cached tokens from the states on disk, expected are $2"
}

# Of the states that all versions leave in one folder, each takes its own.
try_states() {
  local version
  rm -rf "$STATES"
  mkdir -p "$STATES"
  "build/llama-$1/build/cairn-lab" model make falcon-h1 "$STATES/model.gguf" --width 64 --layers 2
  for version in "$@"; do
    expect_cached "$version" none
    expect_cached "$version" some
  done
  expect_cached "$1" some
}

fetch_headers() {
  local source="build/llama-headers-$1"
  if [[ -f "$source/llama.cpp/include/llama.h" ]]; then return 0; fi
  rm -rf "$source"
  mkdir -p "$source"
  fetch_llama "$1" "$source"
}

# try_headers VERSION: the engine's files compile with them. The other libraries' are the prefix's.
try_headers() {
  local source="build/llama-headers-$1" folders=()
  fetch_headers "$1"
  for folder in include ggml/include tools/mtmd; do folders+=("$source/llama.cpp/$folder"); done
  compile_engine "${folders[@]}" "$PREFIX/usr/include"
  say "The engine's files compile with libllama $1."
}

main() {
  local version only=""
  if [[ "${1:-}" == --* ]]; then
    only="$1"
    shift
  fi
  local versions=("$@")
  if [[ $# -eq 0 ]]; then versions=(0.7 0.8); fi
  mkdir -p build
  case "$only" in
    "") ;;
    --fetch) for version in "${versions[@]}"; do fetch_headers "$version"; done ;;
    --compile) for version in "${versions[@]}"; do try_headers "$version"; done ;;
    *) fail "there is no $only; there are --fetch and --compile" ;;
  esac
  if [[ -n "$only" ]]; then return 0; fi
  for version in "${versions[@]}"; do try_version "$version"; done
  try_states "${versions[@]}"
  say "The engine's tests pass with libllama ${versions[*]}, and each takes its own states alone."
}

main "$@"
