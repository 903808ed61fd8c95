#!/usr/bin/env bash
# Tests a model that is split over two workers (`cairn serve --rpc`), with ggml's RPC backend beside
# the backends that are in the private prefix already.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

present="$(cat .deps/prefix/.backends 2>/dev/null || true)"
CAIRN_BACKENDS="$(printf '%s rpc' "$present" | xargs | tr ' ' ',')" scripts/setup.sh
scripts/build.sh cairn llama_backend_test rpc_serve_test
build/src/engine/llama_backend_test --gtest_filter='Rpc*:LlamaAbort*:ModelDevices*'
CAIRN_NEEDS_RPC=1 build/tests/rpc_serve_test "$@"
