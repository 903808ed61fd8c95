#!/usr/bin/env bash
# Everything that a change must pass, from nothing. The sanitizers, the fuzz targets and the soak run
# on what changed since they last ran whole and passed (scripts/lib/changed.sh); nightly runs them in
# full.
# With CI=true the linter looks at all files as far as its time goes, else at the changed ones. The
# tests run last, so the log ends with their count.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/changed.sh
source scripts/lib/changed.sh

readonly WORDS_DIR="build/ci"
readonly LINES_MAX=60
# The short form of make asan: programs that parse bytes or own them. The parsers of chat/ are left
# to the fuzz targets, which are built with the same sanitizers: under them the chat templates of
# all families take a quarter of an hour.
readonly ASAN_PROGRAMS=(
  tree/tree_test cache/cache_test cache/cache_property_test store/store_test store/disk_store_test
  store/disk_store_property_test remote/remote_test events/events_test download/download_test
  engine/engine_test
  engine/llama_engine_test http/http_test
)
# The short form of make tsan: programs whose threads share state.
readonly TSAN_PROGRAMS=(
  store/disk_store_test remote/remote_test sched/sched_test http/http_test http/http_tls_test
  router/router_test
)
# A run that is cut off lands nothing. Where so much has changed that the steps before the thread
# lane took longer than this, it is left to a later run; .ci/checked then has to stay where it is.
readonly TSAN_BEGIN_S_MAX=1800
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

# step NAME COMMAND...: an attempt with its seconds, for docs/testing.md.
step() {
  local start="$SECONDS"
  attempt "$@"
  say "$1 took $((SECONDS - start)) s"
}

# lane asan|tsan PROGRAM...: those of the programs that the change concerns.
lane() {
  local name="$1" programs
  shift
  mapfile -t programs < <(concerned_programs "$@")
  if [[ "${#programs[@]}" -eq 0 ]]; then
    say "$name: nothing that its programs test has changed"
    return 0
  fi
  say "$name: ${programs[*]}"
  step "$name" scripts/sanitize.sh "$name" "${programs[@]}"
}

fuzz_changed() {
  local targets
  mapfile -t targets < <(for file in fuzz/*_fuzz.cc; do basename "$file" _fuzz.cc; done)
  mapfile -t targets < <(concerned_targets "${targets[@]}")
  if [[ "${#targets[@]}" -eq 0 ]]; then
    say "fuzz: nothing that the fuzz targets parse has changed"
    return 0
  fi
  step fuzz env FUZZ_SECONDS=6 SEED=1 scripts/fuzz.sh "${targets[@]}"
}

# Two minutes: two rounds or more.
soak_changed() {
  if grep -qE '^src/(cache|engine|sched|store)/' < <(changed_files); then
    step soak env HOURS=0.03 scripts/soak.sh
  else
    say "soak: nothing that stores or restores states has changed"
  fi
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
  mkdir -p "$WORDS_DIR"
  step build scripts/build.sh
  step format scripts/format.sh --check
  step lint scripts/lint.sh $scope
  if [[ "${CI:-}" == true ]]; then
    lane asan "${ASAN_PROGRAMS[@]}"
    if ((SECONDS <= TSAN_BEGIN_S_MAX)); then
      lane tsan "${TSAN_PROGRAMS[@]}"
    else
      say "tsan: left out, because $SECONDS s are over already; make tsan runs it"
    fi
    fuzz_changed
    soak_changed
    # Where no Node.js was to be had there is no page, and nothing to test.
    if [[ -d build/web ]]; then step web scripts/web_test.sh; fi
    step fleet env SHORT=1 scripts/test_fleet.sh
  fi
  step test scripts/test.sh
  report_failures
}

main "$@"
