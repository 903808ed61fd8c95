# shellcheck shell=bash
# Which of ggml's kernels the tests run with.

# Tests compare bits. ggml's kernels for CPUs with AMX sum in blocks, which depend on what else is in
# a batch and on where in the cache a token lies (docs/troubleshooting.md), so on such a CPU the tests
# run with the next best kernels. Needs common.sh.
use_kernels_that_keep_bits() {
  local amx folder file
  [[ -z "${CAIRN_BACKENDS_DIR:-}" ]] && grep -qsw amx_tile /proc/cpuinfo || return 0
  amx="$(find "$ROOT/.deps/prefix" -name 'libggml-cpu-sapphirerapids.so' 2>/dev/null | head -n 1)"
  if [[ -z "$amx" ]]; then
    say "This CPU has AMX, and ggml's libraries are not in .deps/: tests that compare bits may fail."
    return 0
  fi
  folder="$ROOT/build/backends"
  rm -rf "$folder"
  mkdir -p "$folder"
  for file in "$(dirname "$amx")"/*.so; do
    [[ "$file" == "$amx" ]] || ln -s "$file" "$folder/"
  done
  export CAIRN_BACKENDS_DIR="$folder"
  say "This CPU has AMX: the tests run without $(basename "$amx"), whose sums differ with the batch."
}
