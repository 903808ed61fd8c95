#!/usr/bin/env bash
# Tests ggml's Vulkan backend: on this machine's GPU, or without one on Mesa's software driver, which
# is fetched into .deps/lavapipe (scripts/lib/lavapipe.sh). A test that finds no device fails.
# What is tested: docs/testing.md.
# Usage: scripts/test_vulkan.sh [GoogleTest's arguments, such as --gtest_filter=*qwen35*]
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly ROOT
readonly PREFIX="$ROOT/.deps/prefix"
WORK=""
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/lock.sh
source scripts/lib/lock.sh
# shellcheck source=scripts/lib/prefix.sh
source scripts/lib/prefix.sh
# shellcheck source=scripts/lib/backends.sh
source scripts/lib/backends.sh
# shellcheck source=scripts/lib/lavapipe.sh
source scripts/lib/lavapipe.sh

# Tests of states that hold on Mesa's software driver too and take seconds there.
readonly STATE_TESTS="*LlamaSegment*/falcon_h1:*LlamaSegment*/lfm2:*LlamaSegment*/llama:*LlamaSegment*/qwen35"

# The environment in which a program finds the device.
device=(CAIRN_NEEDS_VULKAN=1)

choose_device() {
  if machine_has_gpu; then
    say "Vulkan on this machine's GPU"
    return 0
  fi
  # ggml takes a device that is a CPU only by its number.
  # Its cooperative matrices give other bits in each run (docs/testing.md).
  device+=(GGML_VK_VISIBLE_DEVICES=0 GGML_VK_DISABLE_COOPMAT=1)
  if ! grep -q '^source=prefix' .deps/stamp; then
    say "Vulkan with the system's software driver"
    return 0
  fi
  WORK="$(mktemp -d "$ROOT/.deps/vulkan.XXXXXX")"
  trap 'rm -rf "$WORK"' EXIT
  ensure_lavapipe
  say "Vulkan with Mesa's software driver, .deps/lavapipe"
  device+=("CAIRN_BACKENDS_DIR=$LAVAPIPE/backends" "VK_DRIVER_FILES=$LAVAPIPE/driver.json"
    "LD_LIBRARY_PATH=$(lavapipe_libraries "$LAVAPIPE")" "MESA_SHADER_CACHE_DIR=$LAVAPIPE/shaders")
}

main() {
  scripts/build.sh cairn vulkan_serve_test llama_engine_test
  choose_device
  env "${device[@]}" build/tests/vulkan_serve_test "$@"
  [[ "$#" -eq 0 ]] || return 0
  env "${device[@]}" build/src/engine/llama_engine_test --gtest_filter="$STATE_TESTS"
}

main "$@"
