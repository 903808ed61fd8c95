#!/usr/bin/env bash
# Plays conversations on four servers behind HAProxy and on one server alone, kills and drains one of
# the four, and fails when a bound is missed (scripts/fleet/run.py has the arguments). SHORT=1: one
# scenario, in less than a minute. As root the servers run in network namespaces.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

have python3 || fail "python3 is needed to play the scenarios; install it."
if [[ -n "${SHORT:-}" ]]; then set -- --short "$@"; fi
PYTHONDONTWRITEBYTECODE=1 exec python3 scripts/fleet/run.py "$@"
