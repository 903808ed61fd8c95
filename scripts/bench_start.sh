#!/usr/bin/env bash
# How long a start takes until /health says ready, and until a request that comes at once is answered,
# beside Debian's llama-server, into docs/start.md: our first start in an empty cache folder, our
# second start in the same folder, and the peer's, in turn, PAIRS times over.
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
export BENCH_SERVER_SECONDS=600 BENCH_SERVER_POLL_SECONDS=0.01
# shellcheck source=scripts/bench_server.sh
source scripts/bench_server.sh

readonly CAIRN="$ROOT/build/cairn"
readonly CAIRN_LAB="$ROOT/build/cairn-lab"
readonly WORK="$ROOT/build/bench-start"
PAIRS="${PAIRS:-5}" CONTEXT="${CONTEXT:-8192}" THREADS="${THREADS:-$(processors)}"
OUT="${OUT:-docs/start.md}"
PEER=()
PEER_CWD=""
TIMES="" # a line a start: model, who, milliseconds until it is ready, and until the answer
ASKED=0 # requests so far
MODELS=()

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# ask WHO: one answer. No request is like another, so none is found in the cache folder.
ask() {
  local url request
  request="{\"messages\":[{\"role\":\"user\",\"content\":\"$((ASKED += 1)): say hello.\"}],"
  request+="\"max_tokens\":4,\"temperature\":0}"
  url="http://127.0.0.1:$(cat "$WORK/$1/port")/v1/chat/completions"
  curl -sS --fail -o /dev/null -H 'Content-Type: application/json' -d "$request" "$url" ||
    fail "$1 did not answer"
}

# time_start MODEL WHO: one line of TIMES.
time_start() {
  local model="$1" who="$2" begin_ms ready_ms
  begin_ms="$(now_ms)"
  start_server "$WORK/$who"
  ready_ms="$(($(now_ms) - begin_ms))"
  ask "$who"
  echo "$model $who $ready_ms $(($(now_ms) - begin_ms))" >>"$TIMES"
  stop_server "$WORK/$who"
}

stop_servers() {
  local who
  for who in first second peer; do stop_server "$WORK/$who"; done
}

# A second start is one right behind the first, so the first has no idle time to measure the grid in.
play_model() {
  local file name pair port who
  file="$(realpath "$1")"
  name="$(basename "$file" .gguf)"
  port="$(free_port)"
  local common=(-m "$file" --port "$port" -c "$CONTEXT" -t "$THREADS")
  for who in first second; do
    new_server "$WORK/$who" "$ROOT" "$port" "$CAIRN" serve "${common[@]}" --cache-dir "$WORK/cache"
  done
  new_server "$WORK/peer" "$PEER_CWD" "$port" "${PEER[@]}" "${common[@]}"
  # Once for the file to be in memory, as it is for all that follow.
  cat "$file" >/dev/null
  for ((pair = 1; pair <= PAIRS; ++pair)); do
    say "$name, $pair of $PAIRS"
    rm -rf "$WORK/cache"
    time_start "$name" first
    time_start "$name" peer
    time_start "$name" second
  done
}

# median MODEL WHO FIELD: 3, until it is ready; 4, until the answer.
median() {
  awk -v model="$1" -v who="$2" -v field="$3" '$1 == model && $2 == who { print $field }' "$TIMES" |
    sort -n | awk '{ times[NR] = $1 } END { print times[int((NR + 1) / 2)] }'
}

# write_table FIELD
write_table() {
  local field="$1" file name first second peer
  cat <<'EOF'
| model | first start | second start | llama-server | first / llama-server | second / llama-server |
| --- | ---: | ---: | ---: | ---: | ---: |
EOF
  for file in "${MODELS[@]}"; do
    name="$(basename "$file" .gguf)"
    first="$(median "$name" first "$field")"
    second="$(median "$name" second "$field")"
    peer="$(median "$name" peer "$field")"
    awk -v name="$name" -v first="$first" -v second="$second" -v peer="$peer" 'BEGIN {
      printf "| %s | %d | %d | %d | %.2f | %.2f |\n", name, first, second, peer, first / peer,
        second / peer
    }'
  done
}

write_page() {
  cat <<EOF
# How long a start takes

Milliseconds from the start of the program until \`/health\` says ready, the median of $PAIRS starts of
each, ours and Debian's llama-server in turn. \`make bench-start\` writes this page. $("$CAIRN" --version | sed -n 1p);
the peer is llama-server $(peer_version), on the same libllama. $(processor_name), $THREADS threads, a
context of $CONTEXT tokens, the model's file in the page cache.

EOF
  write_table 3
  cat <<'EOF'

Until the first answer, of four tokens, to a request that comes as soon as the server is ready:

EOF
  write_table 4
  cat <<'EOF'

The first start has an empty cache folder, the second one follows right behind it. llama-server warms
the model up before it is ready (one decode of an empty prompt); ours decodes 24 tokens to prove
that the model's states can be stored and set back: twice where a GPU computes, unless a start before was
idle long enough to measure the grid. That measurement begins when the server is ready, and a request
ends it at once.
EOF
}

main() {
  mkdir -p "$WORK"
  trap stop_servers EXIT
  TIMES="$WORK/times.txt"
  : >"$TIMES"
  find_peer
  MODELS=("$@")
  if [[ "${#MODELS[@]}" -eq 0 ]]; then
    scripts/model.sh
    MODELS=("$ROOT/$(sed -n 's/^MODEL=//p' models/demo.env)" "$WORK/made-qwen35.gguf")
    "$CAIRN_LAB" model make qwen35 "$WORK/made-qwen35.gguf" --width 256 --layers 4 \
      --train-ctx 32768 >/dev/null
  fi
  local file
  for file in "${MODELS[@]}"; do play_model "$file"; done
  write_page >"$OUT.new"
  mv "$OUT.new" "$OUT"
  say "written: $OUT"
}

main "$@"
