#!/usr/bin/env bash
# Runs the tests of build/; what a failing test printed is shown, and the count comes last.
# Usage: [FOLDER=build] scripts/test.sh [ctest's arguments, such as -L unit]
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/kernels.sh
source scripts/lib/kernels.sh

use_kernels_that_keep_bits
exec ctest --test-dir "${FOLDER:-build}" --output-on-failure --parallel "$(tests_at_once)" --no-tests=error "$@"
