#!/usr/bin/env bash
# Plays random clients against the real server, kills it, damages its folder, and holds every answer
# to that of a server without a cache. What is judged, and how: docs/testing.md.
# The report is left in build/soak/report.md; of a round in which something was wrong, also its
# servers' logs, its folder and the requests that showed it.
# Usage: [HOURS=0.25] [SEED=n] [ONLY=architecture] [ROUND=n] scripts/soak.sh
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/kernels.sh
source scripts/lib/kernels.sh
readonly OUT=build/soak

main() {
  scripts/build.sh soak cairn
  use_kernels_that_keep_bits
  rm -rf "$OUT"
  # The program ends its servers when it is interrupted, so it takes the place of this script.
  exec build/tests/soak/soak --hours "${HOURS:-0.25}" --out "$OUT" ${SEED:+--seed "$SEED"} \
    ${ONLY:+--only "$ONLY"} ${ROUND:+--round "$ROUND"}
}

main "$@"
