#!/usr/bin/env bash
# Everything that a change must pass, from nothing: what it concerns, and everything short
# (docs/testing.md, "What CI runs"). `make nightly` runs the whole.
# Each test is compiled once: the ordinary build has the programs and the tests that start them, the
# address sanitizer's has the unit and property tests. The end prints the seconds of each step.
# Without CI=true: the ordinary build and all tests in it, as `make check`, but from nothing.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/changed.sh
source scripts/lib/changed.sh

readonly WORDS_DIR="build/ci"
readonly LINES_MAX=60
# The short form of make tsan: programs whose threads share state.
readonly TSAN_PROGRAMS=(
  store/disk_store_test fleet/remote/remote_test sched/sched_test http/http_test http/http_tls_test
  routes/routes_test fleet/router/router_test
)
# A run that is cut off lands nothing: it has this long. The thread lane takes ten minutes. It is left to
# a later run when the steps before it took longer than the second figure, so that the whole stays below
# 40 minutes; .ci/checked then has to stay where it is.
readonly LIMIT_S=5400
readonly TSAN_BEGIN_S_MAX=1200
# The soak, the page and the fleet are left out after this long, for the same reason, and of the address
# sanitizer's programs no more are built after the second figure: those of changed folders come first.
readonly LATE_S=4200
readonly ASAN_BUILD_END_S=3600
readonly PROGRAMS_AT_ONCE=4
readonly SYSTEM_COMPILER_S_MAX=150
readonly OBJECTS_AT_ONCE=8
FAILED=""
TOOK=()

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

# step NAME COMMAND...: an attempt with its seconds.
step() {
  local start="$SECONDS"
  attempt "$@"
  TOOK+=("$1 $((SECONDS - start))")
  say "$1 took $((SECONDS - start)) s"
}

# step_unless_late NAME COMMAND...: a step that a slow machine leaves out, and says so.
step_unless_late() {
  if ((SECONDS > LATE_S)); then
    say "$1: left out, because $SECONDS s are over already; make nightly has it"
  else
    step "$@"
  fi
}

report_times() {
  local one line="seconds:"
  for one in "${TOOK[@]}"; do line="$line $one,"; done
  say "$line in all $SECONDS of $LIMIT_S s"
}

# The programs that a lane's target builds, by their paths in the build folder.
lane_programs() { ninja -C "$1" -t query "$2" | sed -n 's/^    [|]* *\(.*_\(test\|fuzz\)\)$/\1/p'; }

# by_change PROGRAM...: first those whose own sources have changed, then the others; of each those of
# src/ before those of lab/ and fuzz/.
by_change() {
  local program files first=() then=()
  files="$(changed_files)"
  for program in "$@"; do
    if grep -q "^$(dirname "$program")/" <<<"$files"; then first+=("$program"); else then+=("$program"); fi
  done
  printf '%s\n' "${first[@]}" | sed '/^$/d' | sort -r
  printf '%s\n' "${then[@]}" | sed '/^$/d' | sort -r
}

# asan PROGRAM...: builds and runs the programs, as many of them as there is time for.
asan() {
  local programs=("$@") built=0
  while ((built < ${#programs[@]} && SECONDS < ASAN_BUILD_END_S)); do
    ninja -C build-asan "${programs[@]:built:PROGRAMS_AT_ONCE}" || return 1
    built=$((built + PROGRAMS_AT_ONCE))
  done
  if ((built < ${#programs[@]})); then
    say "asan: left to a later run after $SECONDS s: ${programs[*]:built}"
  fi
  scripts/sanitize.sh asan "${programs[@]:0:built}"
}

# The programs, and of the ordinary lane the tests that the change concerns.
build_ordinary() {
  local all programs
  scripts/build.sh --configure || return 1
  mapfile -t all < <(lane_programs build ordinary_lane)
  mapfile -t programs < <(concerned_programs build "${all[@]}")
  say "build: ${#programs[@]} of ${#all[@]} test programs, those that the change concerns"
  scripts/build.sh ordinary_lane_others "${programs[@]}"
}

# The unit and property tests that the change concerns, and the kept cases of the fuzz targets.
asan_lane() {
  local programs
  step asan-configuration scripts/sanitize.sh --configure asan
  # What does not configure has no programs to name.
  if [[ "$FAILED" == *asan-configuration* ]]; then return 0; fi
  mapfile -t programs < <(lane_programs build-asan asan_lane)
  mapfile -t programs < <(concerned_programs build-asan "${programs[@]}")
  if [[ "${#programs[@]}" -eq 0 ]]; then
    say "asan: nothing that its programs test has changed"
    return 0
  fi
  mapfile -t programs < <(by_change "${programs[@]}")
  step asan asan "${programs[@]}"
}

tsan_lane() {
  local programs
  mapfile -t programs < <(changed_programs "${TSAN_PROGRAMS[@]}")
  if [[ "${#programs[@]}" -eq 0 ]]; then
    say "tsan: nothing that its programs test has changed"
  elif ((SECONDS > TSAN_BEGIN_S_MAX)); then
    say "tsan: left out, because $SECONDS s are over already; make tsan runs it"
  else
    say "tsan: ${programs[*]}"
    step tsan scripts/sanitize.sh tsan "${programs[@]}"
  fi
}

# compile_alone OBJECT: compiles an object of build-release by its own command. ninja would first link
# every library below its target, because the target's generated sources wait for them.
compile_alone() {
  echo "Compiling $1"
  mkdir -p "build-release/$(dirname "$1")"
  ninja -C build-release -t commands -s "$1" | (cd build-release && bash -e)
}

# What the change concerns of the two programs, by the system's compiler and without precompiled headers:
# a file that forgets an include does not compile here. Sources that changed come first, then those that
# read a changed header, until the time is over; `make nightly` builds all.
compile_as_packages() {
  local objects=() jobs=() object job done=0 begin="$SECONDS"
  scripts/build.sh --release --no-page --configure || return 1
  # It has none of the page.
  mapfile -t objects < <(
    printf '%s\n' "$@" | grep -xFf <(ninja -C build-release -t targets all | sed 's/: [^:]*$//') || true
  )
  while ((done < ${#objects[@]} && SECONDS - begin < SYSTEM_COMPILER_S_MAX)); do
    jobs=()
    for object in "${objects[@]:done:OBJECTS_AT_ONCE}"; do
      compile_alone "$object" &
      jobs+=("$!")
    done
    for job in "${jobs[@]}"; do wait "$job" || return 1; done
    done=$((done + ${#jobs[@]}))
  done
  say "system-compiler: $done of ${#objects[@]} objects"
}

system_compiler_lane() {
  local objects
  mapfile -t objects < <(concerned_objects build | grep -E '^(src|fleet|lab)/' | grep -v '_test\.dir/' || true)
  if [[ "${#objects[@]}" -eq 0 ]]; then
    say "system-compiler: no source of the programs has changed"
  else
    step system-compiler compile_as_packages "${objects[@]}"
  fi
}

# The package is of one version; people build with the others too.
llama_versions_lane() {
  if ! grep -qE '^(src/engine/|scripts/(llama_versions|lib/llama_source))' < <(changed_files); then
    say "llama-versions: nothing that sees libllama has changed"
  elif ! have cargo; then
    say "llama-versions: left out, because the sources come as crates and cargo is not here"
  elif ! timeout 180 scripts/llama_versions.sh --fetch >"$WORDS_DIR/llama-sources.log" 2>&1; then
    tail -n 3 "$WORDS_DIR/llama-sources.log"
    say "llama-versions: left out, because the sources could not be fetched"
  else
    step llama-versions scripts/llama_versions.sh --compile
  fi
}

# Two minutes: two rounds or more.
soak_changed() {
  if build_changed || grep -qE '^src/(cache|engine|sched|store)/' < <(changed_files); then
    step_unless_late soak env HOURS=0.03 scripts/soak.sh
  else
    say "soak: nothing that stores or restores states has changed"
  fi
}

# In CI the tests that need a browser, matplotlib or promtool fail where there is none.
in_ci() {
  export CAIRN_NEEDS_CHROMIUM=1 CAIRN_NEEDS_MATPLOTLIB=1 CAIRN_NEEDS_PROMTOOL=1
  scripts/setup.sh --browser
  scripts/report.sh --install
  TOOK+=("set-up $SECONDS")
  step build build_ordinary
  step format scripts/format.sh --check
  step lint env CAIRN_TIDY_SECONDS="${CAIRN_TIDY_SECONDS:-90}" scripts/lint.sh --checked
  system_compiler_lane
  llama_versions_lane
  # A program of the other lane, or that the change does not concern, is one test here,
  # PROGRAM_NOT_BUILT.
  step test scripts/test.sh -LE asan-lane --exclude-regex '_NOT_BUILT$'
  asan_lane
  tsan_lane
  soak_changed
  # Where no Node.js was to be had there is no page, and nothing to test.
  if [[ -d build/web ]]; then step_unless_late web scripts/test_web.sh; fi
  step_unless_late fleet python3 scripts/bench fleet --short
}

by_hand() {
  scripts/setup.sh --dev
  step build scripts/build.sh
  step format scripts/format.sh --check
  step lint scripts/lint.sh
  step test scripts/test.sh
}

main() {
  mkdir -p "$WORDS_DIR"
  if [[ "${CI:-}" == true ]]; then in_ci; else by_hand; fi
  report_failures
  report_times
}

main "$@"
