#!/usr/bin/env bash
# Configures a build folder when needed and builds it; silent when there is nothing to do.
# A new build/ is clang's where clang-19 and lld-19 are installed and CXX names no other compiler: less
# time than by the system's. Both read precompiled headers. A folder keeps its compiler.
# Usage: scripts/build.sh [--release | --demo] [--configure] [--no-page] [target...]
#   --release    in build-release/, as packages are built: by the system's compiler and without
#                precompiled headers
#   --demo       a new build/ is the system's compiler's; one that is there is used as it is
#   --configure  stop after configuring
#   --no-page    a new build/ gets no web page, whose packages npm would have to fetch first; the
#                next call without this flag adds it
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

PAGE=yes
COMPILER=fastest
FOLDER=build

# A new stamp may mean libraries from elsewhere; what CMake remembers of the old ones must go.
forget_old_libraries() {
  if [[ .deps/stamp -nt "$FOLDER/CMakeCache.txt" ]]; then rm -f "$FOLDER/CMakeCache.txt"; fi
}

# There: the folder was configured without the page.
without_page() { echo "$FOLDER/without-page"; }

is_configured() {
  [[ -f "$FOLDER/CMakeCache.txt" && "$FOLDER/build.ninja" -nt CMakePresets.json ]] || return 1
  [[ "$PAGE" == no || ! -f "$(without_page)" ]]
}

# clang with precompiled headers and lld takes the least time (docs/testing.md). CXX in the environment is
# somebody's choice.
can_use_clang() { [[ -z "${CXX:-}" ]] && have clang++-19 && have ld.lld-19; }

# The preset of this folder: the one it was configured with, or for a new one the fastest that is
# allowed.
choose_preset() {
  if [[ "$FOLDER" == build-release ]]; then
    echo release
  elif [[ -f build/CMakeCache.txt ]] && grep -qxE 'clang|system' build/preset 2>/dev/null; then
    cat build/preset
  elif [[ "$COMPILER" == fastest && ! -f build/CMakeCache.txt ]] && can_use_clang; then
    echo clang
  else
    echo system
  fi
}

configure() {
  local preset
  mkdir -p "$FOLDER"
  preset="$(choose_preset)"
  forget_old_libraries
  if is_configured; then return 0; fi
  set -- --preset "$preset"
  if [[ "$PAGE" == no && ! -f "$FOLDER/CMakeCache.txt" ]]; then
    : >"$(without_page)"
    set -- "$@" -DCAIRN_WEB=OFF
  elif [[ "$PAGE" == yes && -f "$(without_page)" ]]; then
    set -- "$@" -DCAIRN_WEB=AUTO
  fi
  run_step "Configuring ($preset)" "$FOLDER/configure.log" cmake "$@"
  echo "$preset" >"$FOLDER/preset"
  if [[ "$PAGE" == yes ]]; then rm -f "$(without_page)"; fi
  # It asked for nothing that is not there, so what it did without is worth a line.
  grep -h "^The web page is left out" "$FOLDER/configure.log" || true
  # Older than its inputs it would be configured again and again.
  touch "$FOLDER/build.ninja" "$FOLDER/CMakeCache.txt"
}

main() {
  local stop=no
  while [[ "${1:-}" == --* ]]; do
    case "$1" in
      --release) FOLDER=build-release ;;
      --demo) COMPILER=default ;;
      --configure) stop=yes ;;
      --no-page) PAGE=no ;;
      *) fail "unknown argument $1; see scripts/build.sh --help" ;;
    esac
    shift
  done
  configure
  if [[ "$stop" == yes ]]; then return 0; fi
  if [[ "$(ninja -C "$FOLDER" -n "$@")" == *"no work to do"* ]]; then return 0; fi
  ninja -C "$FOLDER" "$@"
}

main "$@"
