#!/usr/bin/env bash
# Plays all scenarios on ours and on Debian's llama-server, with its defaults and with its best
# flags, on a made model of each memory class, and writes docs/benchmarks.md and its pictures.
# Usage: [SCALE=0.25] [REPEAT=3] [CLASSES=hybrid,…] [SCENARIOS=all] [SEED=1] [PAUSE_MS=0]
#        [CONTEXT=32768] [SLOTS=4] [THREADS=n] [RAM_MIB=8192] [TRACE=FILE] [OUT=docs]
#        [FLAGS="further flags of cairn serve"] scripts/bench_peers.sh [--quick]
#   --quick  a minute on one small model, into build/bench-peers/: does the whole chain work?
# What was seen is left in build/bench-peers, with a page for the browser.
#
# MODEL=FILE [CHAT_TEMPLATE=name] [ANSWER_TOKENS=16] and any of the above but CLASSES: the main
# scenarios on this model, on ours and on llama-server with its defaults, and whether their greedy
# answers agree; into build/bench-model/NAME.md (OUT is the folder). llama-server plays once more
# with smaller batches, as a control: how often does it agree with itself? CONTROL=0: not that.
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
MODEL="${MODEL:-}"
if [[ -n "$MODEL" ]]; then
  WORK="${WORK:-build/bench-model}"
  CONFIGURATIONS="cairn llama-server"
  [[ "${CONTROL:-1}" == 0 ]] || CONFIGURATIONS+=" control"
else
  WORK="${WORK:-build/bench-peers}"
  CONFIGURATIONS="cairn llama-server best"
fi
readonly CONFIGURATIONS
readonly MAIN_SCENARIOS="growing-chat,two-agents,edits-further-back,regenerate,edit-last,titles,\
forks,sub-agents,parallel-same,restart,tool-messages,crowd"
readonly CONTROL_BATCH=32
PLAYED="" # the model's file
SERVER="" # folder of the one that runs
ARGV=()   # of the one that is to run
CWD=""    # likewise
FILES=()  # results
PLAY=()   # further flags of cairn-lab bench
SERVE=()  # flags of both servers

# recipe_of CLASS: architecture and layers. Of each class, an architecture whose grid is verified in
# docs/architectures.md; where every token looks at all before it, two layers take long enough.
recipe_of() {
  case "$1" in
    hybrid) echo qwen35 4 ;;
    recurrent) echo mamba2 4 ;;
    sliding-window) echo gpt-oss 2 ;;
    attention) echo qwen3 2 ;;
    *) fail "CLASSES=$1: there are hybrid, recurrent, sliding-window and attention." ;;
  esac
}

use_defaults() {
  if [[ "${1:-}" == --quick ]]; then
    SCALE="${SCALE:-0.02}" REPEAT="${REPEAT:-1}" CLASSES="${CLASSES:-hybrid}"
    SCENARIOS="${SCENARIOS:-growing-chat,restart}" CONTEXT="${CONTEXT:-8192}"
    OUT="${OUT:-$WORK}" WIDTH="${WIDTH:-64}" RAM_MIB="${RAM_MIB:-512}"
    MODELS="${MODELS:-$WORK}"
  fi
  SCALE="${SCALE:-0.25}" REPEAT="${REPEAT:-3}" SCENARIOS="${SCENARIOS:-all}" SEED="${SEED:-1}"
  CLASSES="${CLASSES:-hybrid,recurrent,sliding-window,attention}" PAUSE_MS="${PAUSE_MS:-0}"
  CONTEXT="${CONTEXT:-32768}" SLOTS="${SLOTS:-4}" THREADS="${THREADS:-$(processors)}"
  RAM_MIB="${RAM_MIB:-8192}" TRACE="${TRACE:-}" OUT="${OUT:-docs}" WIDTH="${WIDTH:-256}"
  MODELS="${MODELS:-models/bench}"
  BEST_SLOTS=$((2 * SLOTS))
  read -r -a CAIRN_FLAGS <<<"${FLAGS:-}"
}

# The settings of a real model. Its answers are not decided beforehand, so the history goes on with
# made-up ones, and both servers get the same prompts.
use_model_defaults() {
  [[ -f "$MODEL" ]] || fail "MODEL=$MODEL is no file."
  PLAYED="$(cd "$(dirname "$MODEL")" && pwd)/$(basename "$MODEL")"
  SCENARIOS="${SCENARIOS:-$MAIN_SCENARIOS}" REPEAT="${REPEAT:-1}" OUT="${OUT:-$WORK}"
  ANSWER_TOKENS="${ANSWER_TOKENS:-16}" CHAT_TEMPLATE="${CHAT_TEMPLATE:-}"
  PLAY+=(--fixed-answers "$ANSWER_TOKENS")
  [[ -z "$CHAT_TEMPLATE" ]] || SERVE+=(--chat-template "$CHAT_TEMPLATE")
}

# make_model CLASS: PLAYED is then its path.
make_model() {
  local recipe architecture layers
  recipe="$(recipe_of "$1")"
  read -r architecture layers <<<"$recipe"
  mkdir -p "$MODELS"
  PLAYED="$(cd "$MODELS" && pwd)/$architecture.gguf"
  "$CAIRN_LAB" model make "$architecture" "$PLAYED" --width "$WIDTH" --layers "$layers" \
    --train-ctx 262144 | sed "s|^$ROOT/||"
}

# choose CONFIGURATION CLASS PORT: sets ARGV and CWD.
choose() {
  local slots="$SLOTS" common
  [[ "$1" != best ]] || slots="$BEST_SLOTS"
  # Without --parallel both would share the context among slots.
  common=(-m "$PLAYED" --port "$3" -c "$CONTEXT" -t "$THREADS" -b 2048 -ub 512 --parallel "$slots"
    --kv-unified --cache-ram "$RAM_MIB" "${SERVE[@]}")
  if [[ "$1" == cairn ]]; then
    CWD="$ROOT"
    ARGV=("$CAIRN" serve "${common[@]}" --cache-dir "$WORK/cache" "${CAIRN_FLAGS[@]}")
    return 0
  fi
  CWD="$PEER_CWD"
  ARGV=("${PEER[@]}" "${common[@]}" --metrics)
  [[ "$1" != control ]] || ARGV+=(-b "$CONTROL_BATCH" -ub "$CONTROL_BATCH")
  [[ "$1" == best ]] || return 0
  ARGV+=(--checkpoint-min-step 0 --ctx-checkpoints 256)
  case "$2" in
    sliding-window) ARGV+=(--swa-full --cache-reuse 64) ;;
    attention) ARGV+=(--cache-reuse 64) ;;
  esac
}

name_of() {
  case "$1" in
    best) echo "llama-server, best flags" ;;
    control) echo "llama-server, batches of $CONTROL_BATCH" ;;
    *) echo "$1" ;;
  esac
}

# play CONFIGURATION CLASS REPETITION: one server, all scenarios, one result.
play() {
  local name="$WORK/$2-$3-$1" port code=0 start="$SECONDS" trace=() command
  [[ -z "$TRACE" ]] || trace=(--trace "$TRACE")
  port="$(free_port)"
  choose "$1" "$2" "$port"
  SERVER="$WORK/server"
  # What an earlier run saved must not spare this one its reading.
  rm -rf "$WORK/cache"
  new_server "$SERVER" "$CWD" "$port" "${ARGV[@]}"
  start_server "$SERVER"
  rm -f "$name.json"
  command="$(command_for_people)"
  [[ -z "$MODEL" ]] || command="${command//"${PLAYED#"$ROOT/"}"/"$(basename "$PLAYED")"}"
  "$CAIRN_LAB" bench --url "http://127.0.0.1:$port" --name "$(name_of "$1")" --scenario "$SCENARIOS" \
    --scale "$SCALE" --seed "$SEED" --pause-ms "$PAUSE_MS" --command "$command" \
    --restart "scripts/bench_server.sh restart $(printf %q "$SERVER")" --json "$name.json" \
    "${PLAY[@]}" "${trace[@]}" >"$name.txt" 2>"$name.log" || code=$?
  stop_server "$SERVER"
  mv "$SERVER/log" "$name.server.log"
  SERVER=""
  if [[ ! -f "$name.json" ]]; then
    tail -n 5 "$name.log" | sed 's/^/  | /' >&2
    fail "nothing could be played on $(name_of "$1") with the $2 model (see above)."
  fi
  [[ "$code" -eq 0 ]] || say "  some scenarios ended early, see $name.log"
  say "  $2, run $3 of $REPEAT, $(name_of "$1"): $((SECONDS - start)) s"
  FILES+=("$name.json")
}

# What a page says of the machine and the programs.
machine_paragraph() {
  local name
  name="$(processor_name)"
  paragraph <<END
That took $(((SECONDS + 59) / 60)) minutes on $(date -u +%Y-%m-%d), on $(processors) cores
(${name:-an unknown processor}) with $(memory_gib) GiB of memory, $(uname -sm). Ours is
$("$CAIRN" --version); the peer is Debian's llama-server $(peer_version), on the same libllama.
END
}

write_facts() {
  cat <<END
\`\`\`
make bench-peers SCALE=$SCALE REPEAT=$REPEAT CLASSES=$CLASSES \\
  SCENARIOS=$SCENARIOS SEED=$SEED PAUSE_MS=$PAUSE_MS CONTEXT=$CONTEXT SLOTS=$SLOTS
\`\`\`

END
  machine_paragraph
  paragraph <<END
For each model, one server after the other was started, played and ended, in $REPEAT rounds; never
did two run at once. All have the same model, context, threads, batches and limit for cached RAM,
and answer greedily. The peer plays twice: as it is set up by default, and with its best flags:
twice the slots, \`--checkpoint-min-step 0\`, \`--ctx-checkpoints 256\`, and where the memory
allows them \`--swa-full\` and \`--cache-reuse\`. The last one moves attention memory to
positions that it was not computed for: it changes answers, and may read less than the unavoidable.
END
  paragraph <<END
The models are small ones of random weights that \`cairn-lab model make\` made, with one token a byte
and a template that strips old reasoning. How many tokens are read does not hang on the weights.
Times do: only their ratios say something of other models, and of larger ones they say too little,
as what is read again costs more there.
END
}

write_report() {
  mkdir -p "$OUT/benchmarks"
  rm -f "$OUT"/benchmarks/*.svg
  write_facts >"$WORK/facts.md"
  scripts/report.sh scenarios "${FILES[@]}" --markdown "$OUT/benchmarks.md" \
    --svg-dir "$OUT/benchmarks" --html "$WORK/benchmarks.html" --facts "$WORK/facts.md"
  sed -n '/^## What was promised/,/^## Figures/p' "$OUT/benchmarks.md" | sed '$d'
  say "Wrote $OUT/benchmarks.md and its plots; for a browser: $WORK/benchmarks.html"
}

write_model_facts() {
  local file size architecture
  file="$(basename "$PLAYED")"
  size="$(stat -L -c %s "$PLAYED" | awk '{ printf "%.0f", $1 / 1e6 }')"
  # Ours was played first, and tells it.
  architecture="$(sed -n '/^ *"architecture": "\(.*\)",$/ { s//\1/p; q }' "${FILES[0]}")"
  paragraph <<END
The model is the file \`$file\`, of the architecture ${architecture:-unknown}, $size MB
(10^6 bytes)${CHAT_TEMPLATE:+, with the chat template $CHAT_TEMPLATE in place of its own}.
END
  cat <<END
\`\`\`
make bench-peers MODEL=$file SCALE=$SCALE REPEAT=$REPEAT \\
  SCENARIOS=$SCENARIOS \\
  SEED=$SEED PAUSE_MS=$PAUSE_MS CONTEXT=$CONTEXT SLOTS=$SLOTS THREADS=$THREADS \\
  ANSWER_TOKENS=$ANSWER_TOKENS${CHAT_TEMPLATE:+ CHAT_TEMPLATE=$CHAT_TEMPLATE}
\`\`\`

END
  machine_paragraph
  paragraph <<END
One server after the other was started, played and ended; never did two run at once. All have the
same model, context, slots, threads and limit for cached RAM, and answer greedily with at most
$ANSWER_TOKENS tokens. Each is otherwise set up by default.
END
}

play_all() {
  local repetition configuration
  for ((repetition = 1; repetition <= REPEAT; repetition++)); do
    for configuration in $CONFIGURATIONS; do
      play "$configuration" "$1" "$repetition"
    done
  done
}

write_model_report() {
  local page
  page="$OUT/$(basename "$PLAYED" .gguf).md"
  mkdir -p "$OUT"
  write_model_facts >"$WORK/facts.md"
  scripts/report.sh model "${FILES[@]}" --markdown "$page" --facts "$WORK/facts.md"
  sed -n '/^## In short/,/^## Figures/p' "$page" | sed '1d;$d'
  say "Wrote $page"
}

main() {
  local class
  [[ "$#" -eq 0 || "$*" == --quick ]] || fail "usage: scripts/bench_peers.sh [--quick]"
  [[ -z "$MODEL" ]] || use_model_defaults
  use_defaults "$@"
  find_peer
  ensure_report_tools
  mkdir -p "$WORK"
  trap '[[ -z "$SERVER" ]] || stop_server "$SERVER"' EXIT
  if [[ -n "$MODEL" ]]; then
    play_all "$(basename "$PLAYED" .gguf)"
    write_model_report
    return 0
  fi
  for class in ${CLASSES//,/ }; do
    make_model "$class"
    play_all "$class"
  done
  write_report
}

main "$@"
