#!/usr/bin/env bash
# Configures build/ when needed and builds it; silent when there is nothing to do.
# Usage: scripts/build.sh [--configure | --no-page] [target...]
#   --configure  stop after configuring
#   --no-page    a new build/ gets no web page, whose packages npm would have to fetch first; the
#                next call without this flag adds it
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

readonly WITHOUT_PAGE=build/without-page # there: build/ was configured so
PAGE=yes

# A new stamp may mean libraries from elsewhere; what CMake remembers of the old ones must go.
forget_old_libraries() {
  if [[ .deps/stamp -nt build/CMakeCache.txt ]]; then rm -f build/CMakeCache.txt; fi
}

is_configured() {
  [[ -f build/CMakeCache.txt && build/build.ninja -nt CMakePresets.json ]] || return 1
  [[ "$PAGE" == no || ! -f "$WITHOUT_PAGE" ]]
}

configure() {
  mkdir -p build
  forget_old_libraries
  if is_configured; then return 0; fi
  set -- --preset release
  if [[ "$PAGE" == no && ! -f build/CMakeCache.txt ]]; then
    : >"$WITHOUT_PAGE"
    set -- "$@" -DCAIRN_WEB=OFF
  elif [[ "$PAGE" == yes && -f "$WITHOUT_PAGE" ]]; then
    set -- "$@" -DCAIRN_WEB=AUTO
  fi
  run_step "Configuring" build/configure.log cmake "$@"
  if [[ "$PAGE" == yes ]]; then rm -f "$WITHOUT_PAGE"; fi
  # It asked for nothing that is not there, so what it did without is worth a line.
  grep -h "^The web page is left out" build/configure.log || true
  # Older than its inputs it would be configured again and again.
  touch build/build.ninja build/CMakeCache.txt
}

main() {
  if [[ "${1:-}" == --configure ]]; then
    configure
    return 0
  fi
  if [[ "${1:-}" == --no-page ]]; then
    PAGE=no
    shift
  fi
  configure
  if [[ "$(ninja -C build -n "$@")" == *"no work to do"* ]]; then return 0; fi
  ninja -C build "$@"
}

main "$@"
