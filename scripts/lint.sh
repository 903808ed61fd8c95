#!/usr/bin/env bash
# clang-tidy over the C++ files this branch has changed, or with --checked over those that changed since
# the commit in .ci/checked, or over all of them with --all; shellcheck over the scripts.
# Usage: [CAIRN_TIDY_SECONDS=3600] scripts/lint.sh [--checked | --all | --commands]
#   --commands  only write build/lint/compile_commands.json
# CAIRN_TIDY_SECONDS ends it in time: what was not looked at is named, not failed.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/sources.sh
source scripts/lib/sources.sh
# shellcheck source=scripts/lib/changed.sh
source scripts/lib/changed.sh

readonly TIDY_SECONDS="${CAIRN_TIDY_SECONDS:-3600}"

# lint_one FILE: the body of one parallel worker. $LINT_WORK collects findings and skipped names.
lint_one() {
  local left log code=0
  left=$((LINT_DEADLINE - $(date +%s)))
  log="$(mktemp "$LINT_WORK/log.XXXXXX")"
  if [[ "$left" -le 0 ]]; then
    code=124
  else
    # The compile commands may be gcc's: clang need not know all of its warnings, and it sees gcc's
    # own headers use what they call deprecated.
    timeout "$left" clang-tidy-19 -p build/lint --quiet --extra-arg=-Wno-unknown-warning-option \
      --extra-arg=-Wno-deprecated-declarations "$1" \
      >"$log" 2>"$log.err" || code=$?
  fi
  if [[ "$code" -eq 124 ]]; then
    echo "$1" >>"$LINT_WORK/skipped"
  elif [[ "$code" -ne 0 ]]; then
    # Findings come on standard output; a clang-tidy that cannot work speaks on the other.
    { if [[ -s "$log" ]]; then cat "$log"; else cat "$log.err"; fi; echo; } >>"$LINT_WORK/findings"
    echo "$1" >>"$LINT_WORK/failed"
  fi
}

# Writes build/lint/compile_commands.json: a command for each source, where the build has one for several
# of a target (cmake/Unity.cmake). clangd can read it too.
write_commands() {
  mkdir -p build/lint
  awk '
    /^\{/ { entry = ""; unity = "" }
    { entry = entry $0 "\n" }
    /^ *"file": ".*\/Unity\/[^\/]*\.cxx"/ { split($0, quoted, "\""); unity = quoted[4] }
    /^\},?$/ {
      sub(/\},?\n$/, "}", entry)
      if (unity == "") {
        entries[count++] = entry
        next
      }
      while ((getline line < unity) > 0) {
        if (line !~ /^#include "/) continue
        split(line, quoted, "\"")
        one = ""
        rest = entry
        while ((at = index(rest, unity)) > 0) {
          one = one substr(rest, 1, at - 1) quoted[2]
          rest = substr(rest, at + length(unity))
        }
        entries[count++] = one rest
      }
      close(unity)
    }
    END {
      print "["
      for (i = 0; i < count; ++i) print entries[i] (i + 1 < count ? "," : "")
      print "]"
    }
  ' build/compile_commands.json >build/lint/compile_commands.json
}

# Keeps the names on standard input that the build compiles; only they have flags to lint with.
only_compiled() {
  local file
  while read -r file; do
    if grep -qF "\"file\": \"$ROOT/$file\"" build/lint/compile_commands.json; then echo "$file"; fi
  done
}

run_workers() {
  xargs -r -P "$(processors)" -n 1 scripts/lint.sh --one <"$LINT_WORK/units"
}

report() {
  if [[ -s "$LINT_WORK/skipped" ]]; then
    say "  not looked at, for the $TIDY_SECONDS seconds were over:"
    sort "$LINT_WORK/skipped" | sed 's/^/    /'
  fi
  if [[ -s "$LINT_WORK/failed" ]]; then
    cat "$LINT_WORK/findings"
    fail "clang-tidy objects to $(wc -l <"$LINT_WORK/failed") files; its words are above."
  fi
}

lint_scripts() {
  all_scripts | xargs -r shellcheck --external-sources
  say "shellcheck: all $(all_scripts | wc -l) scripts are clean"
}

# sources branch|checked|all: from the heart outwards, so that a limit cuts off what matters least.
sources() {
  case "$1" in
    all) sources_from_the_heart ;;
    checked) sources_from_the_heart | grep -xFf <(changed_files) || true ;;
    branch) changed_sources ;;
  esac
}

# The compile commands name them where clang builds with precompiled headers.
build_precompiled() {
  if grep -qs '^CAIRN_PRECOMPILED:.*=ON' build/CMakeCache.txt; then
    ninja -C build cairn_precompiled_{library,server,sched,test,server_test} >/dev/null
  fi
}

lint_sources() {
  LINT_WORK="$(mktemp -d)"
  LINT_DEADLINE=$(($(date +%s) + TIDY_SECONDS))
  export LINT_WORK LINT_DEADLINE
  trap 'rm -rf "$LINT_WORK"' EXIT
  build_precompiled
  write_commands
  sources "$1" | to_units | only_compiled >"$LINT_WORK/units"
  run_step "clang-tidy over $(wc -l <"$LINT_WORK/units") files" "$LINT_WORK/workers.log" run_workers
  report
}

main() {
  local which=branch
  if [[ "${1:-}" == --one ]]; then
    lint_one "$2"
    return 0
  fi
  if [[ "${1:-}" == --commands ]]; then
    write_commands
    return 0
  fi
  case "${1:-}" in
    "") ;;
    --all | --checked) which="${1#--}" ;;
    *) fail "unknown argument $1; see scripts/lint.sh --help" ;;
  esac
  lint_scripts
  lint_sources "$which"
}

main "$@"
