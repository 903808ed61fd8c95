#!/usr/bin/env bash
# Formats our C++ files, or with --check says which are not formatted.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/sources.sh
source scripts/lib/sources.sh

if [[ -n "${1:-}" && "$1" != --check ]]; then
  fail "unknown argument $1; see scripts/format.sh --help"
elif [[ -z "${1:-}" ]]; then
  all_sources | xargs -r clang-format-19 -i
elif all_sources | xargs -r clang-format-19 --dry-run -Werror; then
  say "Formatting: all $(all_sources | wc -l) files are as clang-format-19 writes them"
else
  fail "some files are not formatted; run make format."
fi
