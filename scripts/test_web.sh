#!/usr/bin/env bash
# The page's tests: a browser on servers that serve a made model and made projectors, web/tests.
# build/cairn must be there, with its page, and build/cairn-lab. Pictures are kept in
# build/screenshots.
# Usage: scripts/test_web.sh [arguments of playwright test]
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

readonly FOLDER="$ROOT/build/web"
readonly SCREENSHOTS="$ROOT/build/screenshots"

find_browser() {
  local name
  for name in chromium chromium-browser google-chrome; do
    if have "$name"; then
      command -v "$name"
      return 0
    fi
  done
  fail "there is no Chromium to show the page in (apt install chromium)."
}

# The lock file names versions and checksums; where they come from is each machine's own matter.
check_lock() {
  if grep -n '"resolved"' web/package-lock.json; then
    fail "web/package-lock.json names the registry it was made with; web/.npmrc leaves that out."
  fi
}

make_model() {
  [[ -f "$FOLDER/model.gguf" ]] ||
    build/cairn-lab model make qwen35 "$FOLDER/model.gguf" --width 256 --layers 4 >"$FOLDER/model.log"
}

# make_projector KIND NAME
make_projector() {
  [[ -f "$FOLDER/$2.gguf" ]] ||
    build/cairn-lab model make-projector "$1" "$FOLDER/$2.gguf" --width 256 >"$FOLDER/$2.log"
}

# Node looks for packages beside the files that name them.
copy_tests() {
  rm -rf "$FOLDER/tests"
  cp -r web/tests web/playwright.config.ts "$FOLDER/"
}

main() {
  local browser
  [[ -x build/cairn-lab ]] || fail "build/cairn-lab is needed to make a model (scripts/build.sh cairn-lab)."
  [[ -x build/cairn && -d "$FOLDER/node_modules" ]] ||
    fail "build/cairn has no page: build it with Node.js 18.4 or newer and npm (scripts/build.sh cairn)."
  browser="$(find_browser)"
  check_lock
  make_model
  make_projector qwen3vl_merger images
  make_projector qwen2a recordings
  copy_tests
  mkdir -p "$SCREENSHOTS"
  cd "$FOLDER"
  npm run --silent check
  export CAIRN_CHROMIUM="$browser" CAIRN_SCREENSHOTS="$SCREENSHOTS"
  export CAIRN_PROGRAM="$ROOT/build/cairn" CAIRN_FOLDER="$FOLDER"
  node_modules/.bin/playwright test "$@"
}

main "$@"
