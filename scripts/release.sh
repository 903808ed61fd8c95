#!/usr/bin/env bash
# Makes what a release consists of, in build/release: the archive for any Linux and the .deb, both with
# ggml's Vulkan and RPC backends, the list of their contents and licences, and SHA256SUMS.
# CAIRN_BACKENDS chooses other backends.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

main() {
  [[ -z "$(git status --porcelain)" ]] || fail "there are uncommitted changes; commit them first."
  CAIRN_BACKENDS="${CAIRN_BACKENDS:-vulkan,rpc}" scripts/setup.sh
  scripts/package_tar.sh
  scripts/package.sh
  rm -rf build/release
  mkdir build/release
  cp build/package-tar/cairn-*.tar.gz build/package-tar/CONTENTS build/package/*.deb build/release/
  (cd build/release && sha256 ./* | sed 's|\./||' | tee SHA256SUMS)
}

main "$@"
