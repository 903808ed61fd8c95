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

# Python with matplotlib: a virtual environment in .deps/report with the versions that
# lab/report/requirements.txt pins.
readonly REPORT_FOLDER="$ROOT/.deps/report"
readonly REPORT_PYTHON="$REPORT_FOLDER/venv/bin/python3"
readonly REPORT_WANTED="$ROOT/lab/report/requirements.txt"

install_report_packages() {
  rm -rf "$REPORT_FOLDER/venv"
  python3 -m venv "$REPORT_FOLDER/venv"
  "$REPORT_PYTHON" -m pip install --disable-pip-version-check --only-binary :all: \
    -r "$REPORT_WANTED"
  cp "$REPORT_WANTED" "$REPORT_FOLDER/installed"
}

have_report_tools() {
  [[ -x "$REPORT_PYTHON" ]] && cmp -s "$REPORT_WANTED" "$REPORT_FOLDER/installed"
}

ensure_report_tools() {
  if have_report_tools; then return 0; fi
  python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "Python 3.11 with its venv module is needed to draw plots (apt install python3-venv)."
  mkdir -p "$REPORT_FOLDER"
  run_step "Installing matplotlib into .deps/report" "$REPORT_FOLDER/install.log" \
    install_report_packages
}

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
