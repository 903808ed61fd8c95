#!/usr/bin/env bash
# Plays made-up requests, right and wrong ones, against a server on a made model, and holds every
# answer to docs/openapi.yaml. Fails on an answer of 500 or more, on an answer that the description
# does not have, and on a server that dies. That wrong requests are refused is not asked: fields that
# nobody knows are ignored on purpose.
# Usage: [FUZZ_SECONDS=300] [SEED=n] scripts/fuzz_api.sh [schemathesis' arguments]
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/made_server.sh
source scripts/made_server.sh

readonly FOLDER="$ROOT/.deps/fuzz"
readonly TOOL="$FOLDER/venv/bin/schemathesis"
readonly WANTED="scripts/fuzz_requirements.txt"
readonly CHECKS="not_a_server_error,status_code_conformance,content_type_conformance,\
response_headers_conformance,response_schema_conformance"

install_packages() {
  rm -rf "$FOLDER/venv"
  python3 -m venv "$FOLDER/venv"
  "$FOLDER/venv/bin/pip" install --disable-pip-version-check -r "$WANTED"
  cp "$WANTED" "$FOLDER/installed"
}

ensure_schemathesis() {
  if [[ -x "$TOOL" ]] && cmp -s "$WANTED" "$FOLDER/installed"; then return 0; fi
  have python3 || fail "python3 is needed to run Schemathesis; install it with its venv module."
  mkdir -p "$FOLDER"
  run_step "Installing Schemathesis into .deps/fuzz" "$FOLDER/install.log" install_packages
}

# `--max-time` ends the drawing of new requests; the one under way is still waited for. A server that
# drains would refuse all other requests.
play() {
  set -- --max-time "${FUZZ_SECONDS:-300}" "$@"
  if [[ -n "${SEED:-}" ]]; then set -- --seed "$SEED" "$@"; fi
  if [[ ! -t 1 ]]; then set -- --no-color "$@"; fi
  (cd "$FOLDER" && "$TOOL" run "$ROOT/docs/openapi.yaml" --url "$MADE_SERVER_URL" \
    --checks "$CHECKS" --exclude-by '/x-several-models == true' --exclude-operation-id beginDrain \
    --request-timeout 60 --continue-on-failure --generation-database none "$@")
}

main() {
  local code=0
  ensure_schemathesis
  start_made_server "$FOLDER" -c 1024 --predict 16 --chat-template qwen --embeddings
  play "$@" || code=$?
  stop_made_server
  [[ "$code" -eq 0 ]] || fail "the API does not do what docs/openapi.yaml says (see above)."
}

main "$@"
