#!/usr/bin/env bash
# Draws pages and plots from the JSON of benchmarks (docs/scenarios.md); the package is lab/report.
# Usage: scripts/report.sh scenarios|load|model FILE… [--markdown FILE] [--svg-dir DIR]
#          [--html FILE] [--facts FILE]
#        scripts/report.sh --install   matplotlib into .deps/report, and nothing else
#        scripts/report.sh --test      the tests of this package and of the benchmarks
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly ROOT
# shellcheck source=scripts/lib/common.sh
source "$ROOT/scripts/lib/common.sh"
# shellcheck source=scripts/report_tools.sh
source "$ROOT/scripts/report_tools.sh"

export PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="$ROOT/lab:$ROOT/scripts"

# Without matplotlib too: the tests that want it say that they are skipped. A test installs nothing.
run_tests() {
  local python=python3
  if have_report_tools; then python="$REPORT_PYTHON"; fi
  "$python" -m unittest discover --verbose --start-directory "$ROOT/lab/report" \
    --top-level-directory "$ROOT/lab" --pattern '*_test.py'
  "$python" -m unittest discover --verbose --start-directory "$ROOT/scripts" \
    --top-level-directory "$ROOT/scripts" --pattern '*_test.py'
}

main() {
  case "${1:-}" in
    --test) run_tests ;;
    --install) ensure_report_tools ;;
    *)
      ensure_report_tools
      exec "$REPORT_PYTHON" -m report "$@"
      ;;
  esac
}

main "$@"
