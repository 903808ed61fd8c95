#!/usr/bin/env bash
# Servers for benchmarks: each has a folder with its command, its process and its log, so that
# another program can restart it. Usage: scripts/bench_server.sh restart FOLDER; other scripts
# source this file after lib/common.sh.
#
#   FOLDER/argv    the command, a word a line        FOLDER/cwd   where it runs
#   FOLDER/port    where it listens                  FOLDER/pid   its process     FOLDER/log

BENCH_SERVER_SECONDS="${BENCH_SERVER_SECONDS:-120}" # to load a model
BENCH_SERVER_POLL_SECONDS="${BENCH_SERVER_POLL_SECONDS:-0.05}"

# A port that nobody listens on. The search begins elsewhere in each script, so that two that run at
# the same time do not choose the same one.
free_port() {
  local port=$((18080 + $$ % 4000))
  while (exec 2>/dev/null 3<>"/dev/tcp/127.0.0.1/$port"); do port=$((port + 1)); done
  echo "$port"
}

# Whether the process runs. A zombie does not. The state is asked for and not the command line, which
# is empty for a moment while a process executes its program.
process_lives() {
  local stat
  stat="$(cat "/proc/$1/stat" 2>/dev/null)" || return 1
  stat="${stat##*) }"
  [[ "${stat:0:1}" != [ZX] ]]
}

is_healthy() {
  local status
  status="$(
    exec 2>/dev/null 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
    printf 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' >&3
    head -n 1 <&3
  )" || return 1
  [[ "$status" == *" 200 "* ]]
}

# new_server FOLDER CWD PORT command...
new_server() {
  local folder="$1"
  mkdir -p "$folder"
  printf '%s\n' "$2" >"$folder/cwd"
  printf '%s\n' "$3" >"$folder/port"
  rm -f "$folder/log" "$folder/pid"
  shift 3
  printf '%s\n' "$@" >"$folder/argv"
}

server_failed() {
  tail -n 20 "$1/log" | sed 's/^/  | /' >&2
  stop_server "$1"
  fail "the server in $1 $2; its last lines are above"
}

# Starts it and waits until it is ready.
start_server() {
  local folder="$1" log port argv deadline
  log="$(cd "$folder" && pwd)/log"
  port="$(cat "$folder/port")"
  mapfile -t argv <"$folder/argv"
  # In a shell of its own, so that it is nobody's child and whoever likes may end it.
  (
    pid_file="$(cd "$folder" && pwd)/pid"
    cd "$(cat "$folder/cwd")"
    "${argv[@]}" >>"$log" 2>&1 </dev/null &
    echo "$!" >"$pid_file"
  )
  deadline=$((SECONDS + BENCH_SERVER_SECONDS))
  while [[ "$SECONDS" -lt "$deadline" ]]; do
    process_lives "$(cat "$folder/pid")" || server_failed "$folder" "has ended"
    if is_healthy "$port"; then return 0; fi
    sleep "$BENCH_SERVER_POLL_SECONDS"
  done
  server_failed "$folder" "was not ready after $BENCH_SERVER_SECONDS seconds"
}

# Ends it and waits until it is gone; one that does not end by itself is killed.
stop_server() {
  local folder="$1" pid tries
  [[ -f "$folder/pid" ]] || return 0
  pid="$(cat "$folder/pid")"
  kill "$pid" 2>/dev/null || true
  for ((tries = 0; tries < 400; tries++)); do
    if ! process_lives "$pid"; then break; fi
    [[ "$tries" -ne 300 ]] || kill -KILL "$pid" 2>/dev/null || true
    sleep 0.05
  done
  rm -f "$folder/pid"
}

if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then
  set -euo pipefail
  # shellcheck source=scripts/lib/common.sh
  source "$(dirname "$0")/lib/common.sh"
  [[ "${1:-}" == restart && -f "${2:-}/argv" ]] || fail "usage: scripts/bench_server.sh restart FOLDER"
  stop_server "$2"
  start_server "$2"
fi
