#!/usr/bin/env bash
# How long a start takes until /health says ready, beside Debian's llama-server, into docs/start.md:
# our first start in an empty cache folder, our second start in the same folder, and the peer's, in
# turn, PAIRS times over.
# Usage: [PAIRS=5] [CONTEXT=8192] [THREADS=n] [OUT=docs/start.md] scripts/bench_start.sh [MODEL.gguf…]
# Without a model: the demo's, and a made qwen35.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly ROOT
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/peer.sh
source scripts/lib/peer.sh

readonly CAIRN="$ROOT/build/cairn"
readonly WORK="$ROOT/build/bench-start"
readonly PORT=18231
readonly SECONDS_MAX=600
PAIRS="${PAIRS:-5}" CONTEXT="${CONTEXT:-8192}" THREADS="${THREADS:-$(processors)}"
OUT="${OUT:-docs/start.md}"
PEER=()
PEER_CWD=""
TIMES=""   # a line a start: model, who, milliseconds
MODELS=()

now_ms() { echo $(($(date +%s%N) / 1000000)); }

is_ready() {
  curl --silent --fail --max-time 2 --output /dev/null "http://127.0.0.1:$PORT/health"
}

# time_start MODEL WHO FOLDER COMMAND...: one line of TIMES.
time_start() {
  local model="$1" who="$2" folder="$3" begin_ms pid
  shift 3
  begin_ms="$(now_ms)"
  (cd "$folder" && exec "$@") >"$WORK/$who.log" 2>&1 &
  pid=$!
  until is_ready; do
    kill -0 "$pid" 2>/dev/null || fail "$who ended before it was ready; see $WORK/$who.log"
    [[ $(($(now_ms) - begin_ms)) -lt $((SECONDS_MAX * 1000)) ]] ||
      fail "$who was not ready after $SECONDS_MAX s; see $WORK/$who.log"
    sleep 0.01
  done
  echo "$model $who $(($(now_ms) - begin_ms))" >>"$TIMES"
  kill "$pid"
  wait "$pid" 2>/dev/null || true
}

# The cache folder has no idle time to measure the grid in: a second start is one right behind the
# first.
play_model() {
  local file name pair
  file="$(realpath "$1")"
  name="$(basename "$file" .gguf)"
  local common=(-m "$file" --port "$PORT" -c "$CONTEXT" -t "$THREADS")
  # Once for the file to be in memory, as it is for all that follow.
  cat "$file" >/dev/null
  for ((pair = 1; pair <= PAIRS; ++pair)); do
    say "$name, $pair of $PAIRS"
    rm -rf "$WORK/cache"
    time_start "$name" first "$ROOT" "$CAIRN" serve "${common[@]}" --cache-dir "$WORK/cache"
    time_start "$name" peer "$PEER_CWD" "${PEER[@]}" "${common[@]}"
    time_start "$name" second "$ROOT" "$CAIRN" serve "${common[@]}" --cache-dir "$WORK/cache"
  done
}

# median MODEL WHO
median() {
  awk -v model="$1" -v who="$2" '$1 == model && $2 == who { print $3 }' "$TIMES" | sort -n |
    awk '{ times[NR] = $1 } END { print times[int((NR + 1) / 2)] }'
}

write_page() {
  local file name first second peer
  cat <<EOF
# How long a start takes

Milliseconds from the start of the program until \`/health\` says ready, the median of $PAIRS starts of
each, ours and Debian's llama-server in turn. \`make bench-start\` writes this page. $("$CAIRN" --version);
the peer is llama-server $(peer_version), on the same libllama. $(processor_name), $THREADS threads, a
context of $CONTEXT tokens, the model's file in the page cache.

| model | first start | second start | llama-server | first / llama-server | second / llama-server |
| --- | ---: | ---: | ---: | ---: | ---: |
EOF
  for file in "${MODELS[@]}"; do
    name="$(basename "$file" .gguf)"
    first="$(median "$name" first)"
    second="$(median "$name" second)"
    peer="$(median "$name" peer)"
    awk -v name="$name" -v first="$first" -v second="$second" -v peer="$peer" 'BEGIN {
      printf "| %s | %d | %d | %d | %.2f | %.2f |\n", name, first, second, peer, first / peer,
        second / peer
    }'
  done
  cat <<'EOF'

The first start has an empty cache folder, the second one follows right behind it. llama-server warms
the model up before it is ready (one decode of an empty prompt); ours decodes 96 tokens to find out
what kind of memory the model has, and to prove that its states can be stored and set back.
EOF
}

main() {
  mkdir -p "$WORK"
  TIMES="$WORK/times.txt"
  : >"$TIMES"
  find_peer
  MODELS=("$@")
  if [[ "${#MODELS[@]}" -eq 0 ]]; then
    scripts/model.sh
    MODELS=("$ROOT/$(sed -n 's/^MODEL=//p' models/demo.env)" "$WORK/made-qwen35.gguf")
    "$CAIRN" model make qwen35 "$WORK/made-qwen35.gguf" --width 256 --layers 4 --train-ctx 32768 \
      >/dev/null
  fi
  local file
  for file in "${MODELS[@]}"; do play_model "$file"; done
  write_page >"$OUT.new"
  mv "$OUT.new" "$OUT"
  say "written: $OUT"
}

main "$@"
