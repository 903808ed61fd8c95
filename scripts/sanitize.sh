#!/usr/bin/env bash
# The tests under clang's sanitizers.
# Usage: scripts/sanitize.sh asan|tsan [PROGRAM...], scripts/sanitize.sh --configure asan|tsan|fuzz
# asan: addresses and undefined behaviour, in build-asan/; tsan: threads, in build-tsan/. With the names
# of test programs (http/http_test) these alone are built, and the tests of what is built are run; else
# all that ctest knows. Neither optimises: that halves the time of a build, and tests run briefly.
#   --configure  stop after configuring; fuzz is scripts/fuzz.sh's
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/kernels.sh
source scripts/lib/kernels.sh

# ggml's threads meet at barriers of a library that is not built with the sanitizer, which then takes
# what they copy for races. What our own code reads and writes is looked at everywhere.
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 ignore_noninstrumented_modules=1"
export UBSAN_OPTIONS="print_stacktrace=1"
# Leaks are not looked for: libraries that are not built with the sanitizer keep what they made.
export ASAN_OPTIONS="detect_leaks=0 strict_string_checks=1 check_initialization_order=1"

# The thread sanitizer wants its shadow where kernels with much address randomisation may put
# something.
fixed_addresses() { setarch -R "$@"; }

# ctest's pattern of the tests that are not built: of a program it is PROGRAM_NOT_BUILT; a fuzz
# target's Fuzz.NAME is there whether or not it is built, and fails if not.
not_built() {
  local file target pattern='_NOT_BUILT$'
  for file in fuzz/*_fuzz.cc; do
    target="$(basename "$file" _fuzz.cc)"
    if [[ ! -x "build-$1/fuzz/${target}_fuzz" ]]; then pattern="$pattern|^Fuzz[.]$target$"; fi
  done
  echo "$pattern"
}

run_some() {
  local lane="$1"
  shift
  ninja -C "build-$lane" "${@##*/}"
  fixed_addresses ctest --preset "$lane" --parallel "$(tests_at_once)" --no-tests=error \
    --exclude-regex "$(not_built "$lane")"
}

run_all() {
  ninja -C "build-$1"
  fixed_addresses ctest --preset "$1" --parallel "$(tests_at_once)" --no-tests=error
}

configure() {
  local lane="$1"
  have clang++-19 || fail "clang-19 is missing; run scripts/setup.sh --dev."
  mkdir -p "build-$lane"
  # What CMake remembers of another compiler, or of libraries from elsewhere, must go.
  if ! grep -qs '^CMAKE_CXX_COMPILER:.*clang' "build-$lane/CMakeCache.txt" ||
    [[ .deps/stamp -nt "build-$lane/CMakeCache.txt" ]]; then
    rm -rf "build-$lane/CMakeCache.txt" "build-$lane/CMakeFiles"
  fi
  run_step "Configuring" "build-$lane/configure.log" cmake --preset "$lane"
  touch "build-$lane/CMakeCache.txt"
}

main() {
  local stop=0 lane
  if [[ "${1:-}" == --configure ]]; then
    stop=1
    shift
  fi
  lane="${1:-}"
  case "$lane $stop" in
    "asan "* | "tsan "* | "fuzz 1") ;;
    *) fail "scripts/sanitize.sh takes asan or tsan, and not '$lane'" ;;
  esac
  shift
  configure "$lane"
  if [[ "$stop" -eq 1 ]]; then return 0; fi
  use_kernels_that_keep_bits
  if [[ "$#" -gt 0 ]]; then run_some "$lane" "$@"; else run_all "$lane"; fi
}

main "$@"
