# shellcheck shell=bash
# A server on a small made model, for tests that play a client. build/cairn and
# build/cairn-lab must be there.

MADE_SERVER_URL=""
MADE_SERVER_PID=""
MADE_SERVER_LOG=""
MADE_SERVER_PROGRAM=(build/cairn)

made_server_url() { sed -n 's|.* \(http://127\.0\.0\.1:[0-9]*\)$|\1|p' "$MADE_SERVER_LOG"; }

made_server_lives() { kill -0 "$MADE_SERVER_PID" 2>/dev/null; }

made_server_failed() {
  tail -n 20 "$MADE_SERVER_LOG" | sed 's/^/  | /' >&2
  MADE_SERVER_PID=""
  fail "$1; its last lines are above, all of them in $MADE_SERVER_LOG."
}

# run_server FOLDER FLAGS...: MADE_SERVER_PROGRAM as a server; sets MADE_SERVER_URL. The server ends with
# the script at the latest.
run_server() {
  local folder="$1" tries
  shift
  mkdir -p "$folder"
  MADE_SERVER_LOG="$folder/server.log"
  : >"$MADE_SERVER_LOG" # the process below may make it only after it is looked at
  "${MADE_SERVER_PROGRAM[@]}" serve --port 0 -t 1 "$@" >"$MADE_SERVER_LOG" 2>&1 &
  MADE_SERVER_PID="$!"
  trap 'if [[ -n "$MADE_SERVER_PID" ]]; then kill "$MADE_SERVER_PID" 2>/dev/null || true; fi' EXIT
  for ((tries = 0; tries < 600; tries++)); do
    MADE_SERVER_URL="$(made_server_url)"
    [[ -z "$MADE_SERVER_URL" ]] || return 0
    made_server_lives || made_server_failed "the server did not start"
    sleep 0.1
  done
  made_server_failed "the server was not ready after a minute"
}

# start_made_server FOLDER [flags of cairn serve]: on a model that is made there.
start_made_server() {
  local folder="$1"
  shift
  mkdir -p "$folder"
  build/cairn-lab model make llama "$folder/model.gguf" --width 64 --layers 2 >"$folder/model.log"
  run_server "$folder" -m "$folder/model.gguf" --cache-disk 0 "$@"
}

# ask_made_server MESSAGES [MODEL]: eight tokens of an answer to them, as the server sends it.
ask_made_server() {
  curl -sS -m 60 "$MADE_SERVER_URL/v1/chat/completions" -H 'Content-Type: application/json' \
    -d "{\"messages\": [$1], \"max_tokens\": 8, \"temperature\": 0${2:+, \"model\": \"$2\"}}"
}

# cached_tokens ANSWER: how many tokens of its prompt were not prefilled.
cached_tokens() { sed -n 's/.*"cached_tokens":\([0-9]*\).*/\1/p' <<<"$1"; }

# Fails when the server has died, or does not end cleanly when it is told to.
stop_made_server() {
  local code=0
  made_server_lives || made_server_failed "the server has died"
  kill "$MADE_SERVER_PID"
  wait "$MADE_SERVER_PID" || code=$?
  [[ "$code" -eq 0 ]] || made_server_failed "the server ended with code $code"
  MADE_SERVER_PID=""
}
