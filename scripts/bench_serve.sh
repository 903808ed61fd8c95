#!/usr/bin/env bash
# Plays many clients at once on ours and on Debian's llama-server, with the same made model, and
# writes docs/serve.md and its pictures. What is played: cairn-lab bench load --help.
# Usage: [WORKLOADS=speed,crowds,mixed,gaps,turns,streams] [REPEAT=2] [SCALE=1] [SEED=1] [SLOTS=4]
#        [THREADS=n] [CONTEXT=65536] [LONG_TOKENS=100000] [LONG_CONTEXT=262144] [ANSWERS=2]
#        [TURNS=8] [PAUSE_MS=2000] [STREAMS=200] [STREAM_SECONDS=120] [CROWD_MAX=32]
#        [CROWD_SLOTS=16] [RAM_MIB=8192] [OUT=docs] [FLAGS="further flags of cairn serve"]
#        scripts/bench_serve.sh [--quick]
# MODEL=FILE and any of the above: the workload crowds, or WORKLOADS, on this model, into
# build/bench-serve/NAME.md (OUT is the folder).
#   --quick  a minute on a smaller model, into build/bench-serve/: does the whole chain work?
# REPEAT is that of speed and crowds alone: all else is long enough to be played once. For every run
# a server is started and ended, ours and the peer's in turn; never do two run at once. What was
# seen is left in build/bench-serve. Fails when ours did not answer a request whole, unless by a 503
# with Retry-After; what the peer did is on the page.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly ROOT
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/bench_server.sh
source scripts/bench_server.sh
# shellcheck source=scripts/lib/peer.sh
source scripts/lib/peer.sh
# shellcheck source=scripts/report_tools.sh
source scripts/report_tools.sh

readonly CAIRN="${CAIRN:-build/cairn}"
readonly CAIRN_LAB="${CAIRN_LAB:-build/cairn-lab}"
WORK="${WORK:-build/bench-serve}"
MODEL="${MODEL:-}" # its path; empty: one is made
PAGE=serve.md      # written into OUT
SERVER=""       # folder of the one that runs
ARGV=()         # of the one that is to run
CWD=""          # likewise
FILES=()        # results
MADE=""         # whether the model is
OURS_FAILED=""  # workloads in which a request to ours went wrong

use_defaults() {
  if [[ "${1:-}" == --quick ]]; then
    SCALE="${SCALE:-0.05}" REPEAT="${REPEAT:-1}" CONTEXT="${CONTEXT:-16384}" TURNS="${TURNS:-4}"
    LONG_TOKENS="${LONG_TOKENS:-4000}" LONG_CONTEXT="${LONG_CONTEXT:-32768}"
    PAUSE_MS="${PAUSE_MS:-100}" STREAMS="${STREAMS:-40}" STREAM_SECONDS="${STREAM_SECONDS:-5}"
    CROWD_MAX="${CROWD_MAX:-8}" OUT="${OUT:-$WORK}" WIDTH="${WIDTH:-64}"
    RAM_MIB="${RAM_MIB:-512}" MODELS="${MODELS:-$WORK}"
  fi
  if [[ -n "$MODEL" ]]; then
    [[ -f "$MODEL" ]] || fail "MODEL=$MODEL is no file."
    PAGE="$(basename "${MODEL%.gguf}").md" WORKLOADS="${WORKLOADS:-crowds}" OUT="${OUT:-$WORK}"
  fi
  CROWD_MAX="${CROWD_MAX:-32}" CROWD_SLOTS="${CROWD_SLOTS:-16}"
  WORKLOADS="${WORKLOADS:-speed,crowds,mixed,gaps,turns,streams}" REPEAT="${REPEAT:-2}"
  SCALE="${SCALE:-1}" SEED="${SEED:-1}" SLOTS="${SLOTS:-4}" THREADS="${THREADS:-$(processors)}"
  CONTEXT="${CONTEXT:-65536}" LONG_TOKENS="${LONG_TOKENS:-100000}"
  LONG_CONTEXT="${LONG_CONTEXT:-262144}" ANSWERS="${ANSWERS:-2}" TURNS="${TURNS:-8}"
  PAUSE_MS="${PAUSE_MS:-2000}" STREAMS="${STREAMS:-200}" STREAM_SECONDS="${STREAM_SECONDS:-120}"
  RAM_MIB="${RAM_MIB:-8192}" OUT="${OUT:-docs}" WIDTH="${WIDTH:-256}"
  MODELS="${MODELS:-models/bench}"
  # As long as the context allows beside the long prompt, with some room for marks and questions.
  ANSWER_TOKENS=$(((LONG_CONTEXT - LONG_TOKENS - 2048) / ANSWERS))
  [[ "$ANSWER_TOKENS" -ge 200 ]] || fail "LONG_CONTEXT=$LONG_CONTEXT leaves no room for answers."
  read -r -a CAIRN_FLAGS <<<"${FLAGS:-}"
}

make_model() {
  if [[ -n "$MODEL" ]]; then
    MODEL="$(cd "$(dirname "$MODEL")" && pwd)/$(basename "$MODEL")"
    return 0
  fi
  mkdir -p "$MODELS"
  MODEL="$(cd "$MODELS" && pwd)/qwen35.gguf"
  "$CAIRN_LAB" model make qwen35 "$MODEL" --width "$WIDTH" --layers 4 --train-ctx 262144 |
    sed "s|^$ROOT/||"
}

# choose NAME WORKLOAD PORT: sets ARGV and CWD.
choose() {
  local context="$CONTEXT" slots="$SLOTS" common
  [[ "$2" != gaps ]] || context="$LONG_CONTEXT"
  [[ "$2" != crowds ]] || slots="$CROWD_SLOTS"
  common=(-m "$MODEL" --port "$3" -c "$context" -t "$THREADS" -b 2048 -ub 512
    --parallel "$slots" --cache-ram "$RAM_MIB")
  # Crowds are played on the default where the slots are given: a stream for each.
  [[ "$2" == crowds ]] || common+=(--kv-unified)
  if [[ "$1" == cairn ]]; then
    CWD="$ROOT"
    ARGV=("$CAIRN" serve "${common[@]}" --cache-dir "$WORK/cache" "${CAIRN_FLAGS[@]}")
    # The peer gets these answers by a grammar, which it holds reasoning to as well.
    [[ "$2" != turns ]] || ARGV+=(--script "$WORK/turns-script.json")
    return 0
  fi
  CWD="$PEER_CWD"
  ARGV=("${PEER[@]}" "${common[@]}" --metrics)
}

# play NAME WORKLOAD REPETITION: one server, one workload, one result.
play() {
  local file="$WORK/$2-$3-$1" port code=0 start="$SECONDS"
  port="$(free_port)"
  choose "$1" "$2" "$port"
  SERVER="$WORK/server"
  # What an earlier run saved must not spare this one its reading.
  rm -rf "$WORK/cache"
  new_server "$SERVER" "$CWD" "$port" "${ARGV[@]}"
  start_server "$SERVER"
  rm -f "$file.json"
  "$CAIRN_LAB" bench load --url "http://127.0.0.1:$port" --name "$1" --workload "$2" \
    --pid "$(cat "$SERVER/pid")" --scale "$SCALE" --seed "$SEED" --first-repetition "$3" \
    --clients "$SLOTS" --crowd-max "$CROWD_MAX" --long-tokens "$LONG_TOKENS" --answers "$ANSWERS" \
    --answer-tokens "$ANSWER_TOKENS" --turns "$TURNS" --pause-ms "$PAUSE_MS" \
    --streams "$STREAMS" --seconds "$STREAM_SECONDS" --command "$(command_for_people)" \
    --json "$file.json" >"$file.txt" 2>"$file.log" || code=$?
  stop_server "$SERVER"
  mv "$SERVER/log" "$file.server.log"
  SERVER=""
  if [[ ! -f "$file.json" ]]; then
    tail -n 5 "$file.log" | sed 's/^/  | /' >&2
    fail "$2 could not be played on $1 (see above)."
  fi
  say "  $2, run $(($3 + 1)), $1: $((SECONDS - start)) s"
  FILES+=("$file.json")
  [[ "$code" -ne 0 ]] || return 0
  sed 's/^/  | /' "$file.log"
  [[ "$1" != cairn ]] || OURS_FAILED+=" $2"
}

write_facts() {
  local name
  name="$(processor_name)"
  cat <<END
\`\`\`
make bench-serve WORKLOADS=$WORKLOADS REPEAT=$REPEAT SCALE=$SCALE SEED=$SEED \\
  SLOTS=$SLOTS CROWD_SLOTS=$CROWD_SLOTS CROWD_MAX=$CROWD_MAX \\
  CONTEXT=$CONTEXT LONG_TOKENS=$LONG_TOKENS LONG_CONTEXT=$LONG_CONTEXT \\
  ANSWERS=$ANSWERS TURNS=$TURNS PAUSE_MS=$PAUSE_MS STREAMS=$STREAMS STREAM_SECONDS=$STREAM_SECONDS
\`\`\`

END
  paragraph <<END
That took $(((SECONDS + 59) / 60)) minutes on $(date -u +%Y-%m-%d), on $(processors) cores
(${name:-an unknown processor}) with $(memory_gib) GiB of memory, $(uname -sm). Ours is
$("$CAIRN" --version); the peer is Debian's llama-server $(peer_version), on the same libllama.
END
  paragraph <<END
For each run of a workload a server was started and ended, ours and the peer's in turn; never did
two run at once. The clients ran on the same cores. Both servers have the same model, context,
slots, threads, batches and limit for cached RAM, and answer greedily; answers have the same
lengths, as their ends are ignored. *crowds* has $CROWD_SLOTS slots with a stream for each, as is the
default of both; all else is in one buffer. Other lengths and flags of a workload: *gaps* has a context of
$LONG_CONTEXT tokens and $ANSWERS answers of up to $ANSWER_TOKENS tokens; *streams* has $STREAMS
clients for $STREAM_SECONDS seconds; *turns* has pauses of $PAUSE_MS ms, and its answers, which
must hold reasoning, are decided beforehand: the peer is held to them by a grammar in the request,
ours by \`--script\`.
END
  [[ -z "$MADE" ]] || paragraph <<END
The model is a small one of random weights that \`cairn-lab model make qwen35\` made ($WIDTH wide,
4 layers), with one token a byte. On larger ones computing takes more and everything else less of
the time, so ratios are nearer to those of computing alone.
END
}

write_report() {
  mkdir -p "$OUT/serve"
  rm -f "$OUT"/serve/*.svg
  write_facts >"$WORK/facts.md"
  scripts/report.sh load "${FILES[@]}" --markdown "$OUT/$PAGE" --svg-dir "$OUT/serve" \
    --html "$WORK/serve.html" --facts "$WORK/facts.md"
  say "Wrote $OUT/$PAGE and its plots; for a browser: $WORK/serve.html"
}

main() {
  local workload repetition repeat name
  [[ "$#" -eq 0 || "$*" == --quick ]] || fail "usage: scripts/bench_serve.sh [--quick]"
  [[ -n "$MODEL" ]] || MADE=1
  use_defaults "$@"
  find_peer
  ensure_report_tools
  mkdir -p "$WORK"
  trap '[[ -z "$SERVER" ]] || stop_server "$SERVER"' EXIT
  make_model
  "$CAIRN_LAB" bench load --seed "$SEED" --script-out "$WORK/turns-script.json"
  for workload in ${WORKLOADS//,/ }; do
    repeat=1
    [[ "$workload" != speed && "$workload" != crowds ]] || repeat="$REPEAT"
    for ((repetition = 0; repetition < repeat; repetition++)); do
      for name in cairn llama-server; do play "$name" "$workload" "$repetition"; done
    done
  done
  write_report
  [[ -z "$OURS_FAILED" ]] || fail "requests to ours went wrong in:$OURS_FAILED (see above)."
}

main "$@"
