#!/usr/bin/env bash
# The tests of everything that runs on several threads, under gcc's thread sanitizer, in
# build-tsan/. Usage: scripts/tsan.sh [the tests' arguments, such as --gtest_filter=…]
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

readonly TESTS="http/http_test api/api_test sched/sched_test store/disk_store_test"

main() {
  local test targets=()
  for test in $TESTS; do targets+=("${test##*/}"); done
  mkdir -p build-tsan
  run_step "Configuring" build-tsan/configure.log cmake --preset tsan
  ninja -C build-tsan "${targets[@]}"
  # The sanitizer wants its shadow where kernels with much address randomisation may put something.
  for test in $TESTS; do
    echo "thread sanitizer: $test"
    TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1" setarch -R "build-tsan/src/$test" \
      --gtest_brief=1 "$@"
  done
}

main "$@"
