#!/usr/bin/env bash
# Starts the demo or a server on the demo's model, or on MODEL with CHAT_TEMPLATE when given.
# Usage: [MODEL=FILE] [CHAT_TEMPLATE=NAME] [PORT=N] scripts/play.sh demo|serve
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

readonly PORT="${PORT:-8080}"

choose_model() {
  if [[ -n "${MODEL:-}" ]]; then
    [[ -f "$MODEL" ]] || fail "MODEL=$MODEL: there is no such file."
    return 0
  fi
  scripts/model.sh
  # shellcheck source=/dev/null
  source models/demo.env
}

print_address() {
  local url="http://127.0.0.1:$PORT"
  cat <<END
Serving $MODEL at $url (Ctrl-C stops it). From another terminal:

  curl $url/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{"messages": [{"role": "user", "content": "What is a cairn?"}], "max_tokens": 64}'

END
}

main() {
  local mode="${1:-}"
  [[ "$mode" == demo || "$mode" == serve ]] || fail "usage: scripts/play.sh demo|serve"
  choose_model
  local program=build/cairn
  if [[ "$mode" == demo ]]; then program=build/cairn-demo; fi
  set -- "$program" "$mode" --model "$MODEL"
  if [[ -n "${CHAT_TEMPLATE:-}" ]]; then set -- "$@" --chat-template "$CHAT_TEMPLATE"; fi
  if [[ "$mode" == serve ]]; then
    print_address
    set -- "$@" --port "$PORT"
  fi
  exec "$@"
}

main "$@"
