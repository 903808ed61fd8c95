#!/usr/bin/env bash
# The official JavaScript clients of OpenAI and Anthropic against a server on a made model: what
# scripts/sdk/*.test.mjs ask of them.
# Usage: scripts/sdk.sh [arguments of node --test]
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/made_server.sh
source scripts/made_server.sh

readonly FOLDER="$ROOT/.deps/sdk"
readonly NODE_MIN=20
readonly KEY=a-key-of-the-tests

ensure_node() {
  if ! have node || ! have npm; then
    fail "node and npm are needed for the clients' tests; install Node.js $NODE_MIN or newer."
  fi
  local version
  version="$(node --version)"
  version="${version#v}"
  [[ "${version%%.*}" -ge "$NODE_MIN" ]] || fail "node is $version, needed is $NODE_MIN."
}

ensure_packages() {
  local lock=scripts/sdk/package-lock.json
  if cmp -s "$lock" "$FOLDER/installed"; then return 0; fi
  mkdir -p "$FOLDER"
  cp scripts/sdk/package.json "$lock" "$FOLDER/"
  run_step "Installing the clients into .deps/sdk" "$FOLDER/install.log" \
    npm --prefix "$FOLDER" ci --no-audit --no-fund
  cp "$lock" "$FOLDER/installed"
}

# Node looks for packages beside the file that imports them.
play() {
  cp scripts/sdk/*.mjs "$FOLDER/"
  (cd "$FOLDER" && CAIRN_URL="$MADE_SERVER_URL" CAIRN_KEY="$KEY" \
    node --test --test-reporter spec "$@" ./*.test.mjs)
}

main() {
  local code=0
  ensure_node
  ensure_packages
  build/cairn-lab model make-projector lfm2 "$FOLDER/mmproj.gguf" --width 64 >"$FOLDER/model.log"
  start_made_server "$FOLDER" -c 8192 --chat-template chatml --embeddings --api-key "$KEY" \
    --mmproj "$FOLDER/mmproj.gguf"
  play "$@" || code=$?
  stop_made_server
  [[ "$code" -eq 0 ]] || fail "the clients do not get what they expect (see above)."
}

main "$@"
