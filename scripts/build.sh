#!/usr/bin/env bash
# Configures a build folder when needed and builds it; silent when there is nothing to do.
# A new build/ is clang's with precompiled headers where clang-19 and lld-19 are installed and CXX
# names no other compiler: half of the time of gcc's. A folder keeps its compiler.
# Usage: scripts/build.sh [--release | --demo] [--configure] [--no-page] [target...]
#   --release    by the system's compiler and without precompiled headers, as packages are built: in
#                build/, or in build-release/ where build/ is clang's
#   --demo       a new build/ is made as with --release; one that is there is used as it is
#   --configure  stop after configuring
#   --no-page    a new build/ gets no web page, whose packages npm would have to fetch first; the
#                next call without this flag adds it
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/build_folder.sh
source scripts/lib/build_folder.sh

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

# The preset of this folder: the one it was configured with, or for a new one the fastest that is
# allowed. What was configured before presets were written down is gcc's.
choose_preset() {
  if [[ "$FOLDER" != build ]]; then
    echo release-apart
  elif [[ -f build/preset ]]; then
    cat build/preset
  elif [[ "$COMPILER" == fastest && ! -f build/CMakeCache.txt ]] && can_use_clang; then
    echo clang
  else
    echo release
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
      --release)
        COMPILER=default
        FOLDER="$(release_folder)"
        ;;
      --demo) COMPILER=default ;;
      --configure) stop=yes ;;
      --no-page) PAGE=no ;;
      *) fail "unknown argument $1; see the head of scripts/build.sh" ;;
    esac
    shift
  done
  configure
  if [[ "$stop" == yes ]]; then return 0; fi
  if [[ "$(ninja -C "$FOLDER" -n "$@")" == *"no work to do"* ]]; then return 0; fi
  ninja -C "$FOLDER" "$@"
}

main "$@"
