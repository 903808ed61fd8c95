#!/usr/bin/env bash
# Configures build/ when needed and builds it; silent when there is nothing to do.
# Usage: scripts/build.sh [--configure] [target...]
#   --configure  stop after configuring
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

# A new stamp may mean libraries from elsewhere; what CMake remembers of the old ones must go.
forget_old_libraries() {
  if [[ .deps/stamp -nt build/CMakeCache.txt ]]; then rm -f build/CMakeCache.txt; fi
}

configure() {
  mkdir -p build
  forget_old_libraries
  if [[ -f build/CMakeCache.txt && build/build.ninja -nt CMakePresets.json ]]; then return 0; fi
  run_step "Configuring" build/configure.log cmake --preset release
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
  configure
  if [[ "$(ninja -C build -n "$@")" == *"no work to do"* ]]; then return 0; fi
  ninja -C build "$@"
}

main "$@"
