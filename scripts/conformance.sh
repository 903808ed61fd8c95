#!/usr/bin/env bash
# Tries what libllama can do with the memory of every architecture it can make a model of, and writes
# src/engine/architectures.tsv and docs/architectures.md. It took 24 minutes on two busy cores.
# ONLY is a regular expression over the architectures' names: the rows of others stay as they are.
# What the checks said is left in build/conformance.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/kernels.sh
source scripts/lib/kernels.sh
readonly WORK=build/conformance

main() {
  scripts/build.sh conformance
  use_kernels_that_keep_bits
  rm -rf "$WORK"
  build/tests/conformance/conformance --work "$WORK" --table src/engine/architectures.tsv \
    --page docs/architectures.md ${ONLY:+--only "$ONLY"}
  git --no-pager diff --stat -- src/engine/architectures.tsv docs/architectures.md 2>/dev/null || true
}

main "$@"
