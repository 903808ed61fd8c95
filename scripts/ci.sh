#!/usr/bin/env bash
# Everything a change must pass, from nothing. With CI=true the linter looks at all files as far
# as its time goes, else at the changed ones. The tests run last, so the log ends with their count.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

readonly WORDS_DIR="build/ci"
readonly LINES_MAX=60
# CI's short form of make asan: programs that take bytes apart or hold them. The parsers of chat/ are
# left to the fuzz targets, which are built with the same sanitizers: under them the chat templates
# of all families take a quarter of an hour.
readonly ASAN_PROGRAMS=(
  tree/tree_test cache/cache_test cache/cache_property_test store/store_test store/disk_store_test
  store/disk_store_property_test engine/engine_test engine/llama_engine_test http/http_test
)
# CI's short form of make tsan: programs whose threads share something.
readonly TSAN_PROGRAMS=(
  store/store_test store/disk_store_test sched/sched_test http/http_test
  http/http_tls_test
)
FAILED=""

# attempt NAME COMMAND...: a step whose failure does not hide what the later ones find.
attempt() {
  local name="$1"
  shift
  "$@" 2>&1 | tee "$WORDS_DIR/$name.log" || FAILED="$FAILED $name"
}

# The end of the log must say why, for the beginning of a long one is often lost.
report_failures() {
  local name
  [[ -n "$FAILED" ]] || return 0
  for name in $FAILED; do
    say "the last words of $name:"
    tail -n "$LINES_MAX" "$WORDS_DIR/$name.log"
  done
  fail "failed:$FAILED"
}

main() {
  local scope="" tools=--dev
  if [[ "${CI:-}" == true ]]; then
    scope=--all
    export CAIRN_TIDY_SECONDS="${CAIRN_TIDY_SECONDS:-60}"
    # Elsewhere the tests that need a browser, matplotlib or promtool are left out where there is
    # none.
    tools=--browser
    export CAIRN_NEEDS_CHROMIUM=1 CAIRN_NEEDS_MATPLOTLIB=1 CAIRN_NEEDS_PROMTOOL=1
  fi
  scripts/setup.sh $tools
  if [[ "${CI:-}" == true ]]; then scripts/report.sh --install; fi
  scripts/build.sh
  mkdir -p "$WORDS_DIR"
  attempt format scripts/format.sh --check
  attempt lint scripts/lint.sh $scope
  if [[ "${CI:-}" == true ]]; then
    attempt asan scripts/sanitize.sh asan "${ASAN_PROGRAMS[@]}"
    attempt tsan scripts/sanitize.sh tsan "${TSAN_PROGRAMS[@]}"
  fi
  if [[ "${CI:-}" == true ]]; then attempt fuzz env FUZZ_SECONDS=8 SEED=1 scripts/fuzz.sh; fi
  # Two and a half minutes: two or three rounds.
  if [[ "${CI:-}" == true ]]; then attempt soak env HOURS=0.04 scripts/soak.sh; fi
  # Where no Node.js was to be had there is no page, and nothing to test.
  if [[ "${CI:-}" == true && -d build/web ]]; then attempt web scripts/web_test.sh; fi
  attempt test scripts/test.sh
  report_failures
}

main "$@"
