# shellcheck shell=bash
# Python with matplotlib, for pages and plots: a virtual environment in .deps/report with the
# versions that lab/report/requirements.txt pins. Needs common.sh and ROOT.

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
