#!/usr/bin/env bash
# Tests of scripts/bench_server.sh that need no server.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly ROOT
# shellcheck source=scripts/lib/common.sh
source "$ROOT/scripts/lib/common.sh"
# shellcheck source=scripts/bench_server.sh
source "$ROOT/scripts/bench_server.sh"

# Between fork and the first instruction of the program there is a moment without a command line.
a_process_lives_while_it_executes_its_program() {
  local try pid ask
  for ((try = 0; try < 50; try++)); do
    (exec bash -c 'read -r -t 5 || true' <"$pipe") &
    pid="$!"
    for ((ask = 0; ask < 5; ask++)); do
      process_lives "$pid" || fail "a process that has just been started is said to have ended"
    done
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    ! process_lives "$pid" || fail "a process that has ended is said to live"
  done
}

a_zombie_does_not_live() {
  local zombie
  # It ends when its parent is a program that never asks about it.
  exec 4< <(exec bash -c 'sleep 0.3 & echo "$!"; exec sleep 30')
  read -r zombie <&4
  sleep 0.6
  [[ -e "/proc/$zombie" ]] || fail "the zombie is gone, so nothing was tested"
  ! process_lives "$zombie" || fail "a zombie is said to live"
  kill "$(awk '/^PPid:/ { print $2 }' "/proc/$zombie/status")"
  exec 4<&-
}

a_port_is_one_that_nobody_listens_on() {
  local port
  port="$(free_port)"
  ! (exec 2>/dev/null 3<>"/dev/tcp/127.0.0.1/$port") || fail "somebody listens on port $port"
}

pipe="$(mktemp -u)"
mkfifo "$pipe"
exec 5<>"$pipe" # so that whoever opens it for reading waits for a line and not for a writer
trap 'rm -f "$pipe"' EXIT
a_process_lives_while_it_executes_its_program
a_zombie_does_not_live
a_port_is_one_that_nobody_listens_on
echo "bench_server.sh: all tests passed"
