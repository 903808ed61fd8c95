#!/usr/bin/env bash
# Compares testdata/llama_server_flags.txt, the spellings that the tests know, with the --help of the
# llama-server that is installed. What becomes of a flag is in src/cmd/llama_flags/llama_flags.tsv.
# Usage: scripts/llama_flags.sh [--update]   --update: rewrite the list
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly ROOT
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/peer.sh
source scripts/lib/peer.sh

readonly LIST=testdata/llama_server_flags.txt
PEER=()
PEER_CWD=""

# The spellings of a help on standard input, each with the number of its values. A flag's line begins
# with its spellings, separated by commas; one space is before its values, and two before its sentence.
spellings() {
  awk '
    /^--?[A-Za-z]/ {
      rest = $0
      names = 0
      while (match(rest, /^ *--?[A-Za-z][A-Za-z0-9.-]*,?/)) {
        word = substr(rest, 1, RLENGTH)
        rest = substr(rest, RLENGTH + 1)
        last = word !~ /,$/
        gsub(/[ ,]/, "", word)
        name[names++] = word
        if (last) break
      }
      values = 0
      if (rest ~ /^ [^ ]/) {
        sub(/^ /, "", rest)
        sub(/  .*/, "", rest)
        values = rest == "START END" ? 2 : 1
      }
      for (i = 0; i < names; i++) print name[i], values
    }'
}

find_peer
version="$(peer_version)"
help="$(cd "$PEER_CWD" && "${PEER[@]}" --help)"
found="$(spellings <<<"$help")"
[[ -n "$found" ]] || fail "llama-server's --help names no flag."
header="$(head -n 1 "$LIST")"

if [[ "${1:-}" == --update ]]; then
  printf '%s\n%s\n' "$header" "$found" >"$LIST"
  echo "$LIST has the flags of llama-server $version; its first line has the version."
  exit 0
fi
if ! diff -u --label "$LIST" --label "llama-server $version" <(tail -n +2 "$LIST") <(echo "$found"); then
  fail "the flags of llama-server $version are others than those of $LIST: make llama-flags UPDATE=1"
fi
echo "$LIST has the $(wc -l <<<"$found") spellings of llama-server $version."
