#!/usr/bin/env bash
# Renders the templates and conversations of testdata/golden/prompts_of_families.json, which a test
# of ours writes, with @huggingface/jinja, and compares byte for byte. Needs node and npm; the
# package, whose version and checksum are in package-lock.json, goes to .deps/templates.
# Differences that are known stand in scripts/templates/known_differences.txt.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

readonly HOME_DIR=.deps/templates

main() {
  if ! have node || ! have npm; then
    fail "comparing templates needs node (20 or newer) and npm."
  fi
  mkdir -p "$HOME_DIR"
  cp scripts/templates/package.json scripts/templates/package-lock.json \
    scripts/templates/compare.mjs "$HOME_DIR"
  if ! cmp -s scripts/templates/package-lock.json "$HOME_DIR/installed-lock.json"; then
    run_step "Installing @huggingface/jinja" "$HOME_DIR/install.log" \
      npm ci --prefix "$HOME_DIR" --no-audit --no-fund --ignore-scripts
    cp scripts/templates/package-lock.json "$HOME_DIR/installed-lock.json"
  fi
  node "$HOME_DIR/compare.mjs" "$ROOT"
}

main "$@"
