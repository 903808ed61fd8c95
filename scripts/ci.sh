#!/usr/bin/env bash
# Everything a change must pass, from nothing. With CI=true the linter looks at all files as far
# as its time goes, else at the changed ones. The tests run last, so the log ends with their count.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

main() {
  local scope="" failed="" tools=--dev
  if [[ "${CI:-}" == true ]]; then
    scope=--all
    export CAIRN_TIDY_SECONDS="${CAIRN_TIDY_SECONDS:-60}"
    # Elsewhere the tests that need a browser or promtool are left out where there is none.
    tools=--browser
    export CAIRN_NEEDS_CHROMIUM=1 CAIRN_NEEDS_PROMTOOL=1
  fi
  scripts/setup.sh $tools
  scripts/build.sh
  scripts/format.sh --check || failed="$failed format"
  scripts/lint.sh $scope || failed="$failed lint"
  if [[ "${CI:-}" == true ]]; then scripts/tsan.sh || failed="$failed tsan"; fi
  # Where no Node.js was to be had there is no page, and nothing to test.
  if [[ "${CI:-}" == true && -d build/web ]]; then scripts/web_test.sh || failed="$failed web"; fi
  # A broken format must not hide broken tests: they run in any case.
  scripts/test.sh || failed="$failed test"
  [[ -z "$failed" ]] || fail "failed:$failed (see above)"
}

main "$@"
