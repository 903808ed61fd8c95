#!/usr/bin/env bash
# Runs the fuzz targets (fuzz/), or those named, with libFuzzer and two sanitizers, FUZZ_SECONDS (60)
# each, one a processor. What makes one fail is kept in fuzz/cases/, where the ordinary tests play
# it; what only leads further is kept in build-fuzz/corpus/ for the next run.
# Usage: [FUZZ_SECONDS=60] [SEED=n] scripts/fuzz.sh [target...]
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

readonly BUILD="build-fuzz"
readonly LOGS="$BUILD/logs"
# Of one input.
readonly SECONDS_MAX=20
readonly MEGABYTES_MAX=2048
# Threads of the server's are at work when libFuzzer would look for leaks.
readonly WITH_THREADS=" api http "

all_targets() {
  local file
  for file in fuzz/*_fuzz.cc; do basename "$file" _fuzz.cc; done
}

# build TARGET...
build() {
  scripts/sanitize.sh --configure fuzz
  ninja -C "$BUILD" "${@/%/_fuzz}"
}

# run_one TARGET: the body of one parallel worker. It always succeeds; the report looks at the log.
run_one() {
  local target="$1" flags=() folders=() folder
  mkdir -p "$BUILD/corpus/$target" "fuzz/cases/$target"
  for folder in "$BUILD/corpus/$target" "fuzz/corpus/$target" "fuzz/cases/$target"; do
    if [[ -d "$folder" ]]; then folders+=("$folder"); fi
  done
  if [[ -f "fuzz/$target.dict" ]]; then flags+=("-dict=fuzz/$target.dict"); fi
  if [[ "$WITH_THREADS" == *" $target "* ]]; then flags+=(-detect_leaks=0); fi
  if [[ -n "${SEED:-}" ]]; then flags+=("-seed=$SEED"); fi
  set +e
  "$BUILD/fuzz/${target}_fuzz" "${flags[@]}" -max_total_time="${FUZZ_SECONDS:-60}" \
    -timeout="$SECONDS_MAX" -report_slow_units=1000 -rss_limit_mb="$MEGABYTES_MAX" \
    -malloc_limit_mb="$MEGABYTES_MAX" -print_final_stats=1 \
    -artifact_prefix="fuzz/cases/$target/" "${folders[@]}" >"$LOGS/$target.log" 2>&1
  echo "exit code: $?" >>"$LOGS/$target.log"
  set -e
  rmdir "fuzz/cases/$target" 2>/dev/null || true
  echo "  $target: $(figure "$target" number_of_executed_units) executions"
}

# figure TARGET NAME: of libFuzzer's final ones.
figure() { sed -n "s/^stat::$2: *//p" "$LOGS/$1.log" | tail -n 1; }

# features TARGET: how many more there were at the end than from what was kept before.
features() {
  awk '$2 == "INITED" || $2 == "DONE" || $2 == "NEW" || $2 == "REDUCE" || $2 == "pulse" {
      for (i = 3; i < NF; ++i) if ($i == "ft:") { if ($2 == "INITED") begin = $(i + 1); end = $(i + 1) }
    }
    END { print end - begin }' "$LOGS/$1.log"
}

failed() { ! grep -q "^exit code: 0$" "$LOGS/$1.log"; }

# The case of a target that failed, and how to see it again.
report_failure() {
  local target="$1" found
  found="$(sed -n 's/.*Test unit written to //p' "$LOGS/$target.log" | tail -n 1)"
  printf '\n%s failed:\n' "$target"
  grep -a -m 1 -A 12 -E "this must hold|ERROR:|runtime error:" "$LOGS/$target.log" ||
    tail -n 12 "$LOGS/$target.log"
  if [[ -n "$found" ]]; then say "again: $BUILD/fuzz/${target}_fuzz $found"; fi
}

report() {
  local target broken=0
  printf '\n%-14s %12s %20s %8s\n' target executions "new features" crashes
  for target in "$@"; do
    printf '%-14s %12s %20s %8s\n' "$target" "$(figure "$target" number_of_executed_units)" \
      "$(features "$target")" "$(failed "$target" && echo 1 || echo 0)"
  done
  for target in "$@"; do
    if failed "$target"; then
      broken=$((broken + 1))
      report_failure "$target"
    fi
  done
  [[ "$broken" -eq 0 ]] || fail "$broken fuzz targets failed; their cases are kept (see above)."
}

# Where it failed is named by file and line when there is a symbolizer; any version will do.
use_symbolizer() {
  local name
  for name in llvm-symbolizer-19 llvm-symbolizer; do
    if have "$name"; then
      ASAN_SYMBOLIZER_PATH="$(command -v "$name")"
      export ASAN_SYMBOLIZER_PATH
      return 0
    fi
  done
}

main() {
  local targets=()
  if [[ "${1:-}" == --one ]]; then
    run_one "$2"
    return 0
  fi
  targets=("$@")
  if [[ $# -eq 0 ]]; then mapfile -t targets < <(all_targets); fi
  build "${targets[@]}"
  use_symbolizer
  mkdir -p "$LOGS"
  say "${#targets[@]} targets, ${FUZZ_SECONDS:-60} s each, $(processors) at a time"
  printf '%s\n' "${targets[@]}" | xargs -P "$(processors)" -n 1 scripts/fuzz.sh --one
  report "${targets[@]}"
}

main "$@"
