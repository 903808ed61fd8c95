#!/usr/bin/env bash
# Plays a hostile client against Cairn and against Debian's llama-server, while a second client chats;
# writes docs/abuse.md, and fails where Cairn does not hold (scripts/abuse/run.py says when, and has
# the arguments). SHORT=1: less of everything, on Cairn alone, in less than half a minute. ONLY=WORD,…:
# some of the attacks.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

have python3 || fail "python3 is needed to play the attacks; install it."
if [[ -n "${SHORT:-}" ]]; then set -- --short "$@"; fi
if [[ -n "${ONLY:-}" ]]; then set -- --only "$ONLY" "$@"; fi
PYTHONDONTWRITEBYTECODE=1 exec python3 scripts/abuse/run.py "$@"
