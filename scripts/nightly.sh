#!/usr/bin/env bash
# Everything that CI runs in a short form, whole: all tests in a build by the system's compiler, with
# all generated cases, and under both sanitizers; every fuzz target for a minute, a quarter of an
# hour of soak, 200 kills, the conformance of all architectures, and the engine with libllama of each
# version from source. Takes hours. When all pass, the commit is written to .ci/checked: CI looks at what
# changed since.
# Usage: [FUZZ_SECONDS=60] [HOURS=0.25] scripts/nightly.sh
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

readonly WORDS_DIR="build/nightly"
FAILED=""

# attempt NAME COMMAND...: a step whose failure does not hide what the later ones find.
attempt() {
  local name="$1" start="$SECONDS"
  shift
  say "$name"
  "$@" >"$WORDS_DIR/$name.log" 2>&1 || FAILED="$FAILED $name"
  tail -n 3 "$WORDS_DIR/$name.log" | sed 's/^/  | /'
  say "$name took $((SECONDS - start)) s"
}

main() {
  [[ -z "$(git status --porcelain)" ]] || fail "there are uncommitted changes; commit them first."
  scripts/setup.sh --browser
  mkdir -p "$WORDS_DIR"
  attempt build scripts/build.sh
  attempt build-release scripts/build.sh --release
  attempt test env CAIRN_ALL_CASES=1 FOLDER=build-release scripts/test.sh
  attempt lint scripts/lint.sh --all
  attempt asan scripts/sanitize.sh asan
  attempt tsan scripts/sanitize.sh tsan
  attempt fuzz scripts/fuzz.sh
  attempt soak scripts/soak.sh
  attempt web scripts/test_web.sh
  attempt fleet python3 scripts/bench fleet
  attempt abuse env OUT="$WORDS_DIR/abuse.md" python3 scripts/bench abuse --no-peer
  attempt crash env CAIRN_CRASHES=200 build/tests/crash_test
  attempt models env CAIRN_ROUTER_TURNS=200 CAIRN_ROUTER_KILLS=50 build/tests/models_serve_test
  attempt conformance scripts/conformance.sh
  attempt llama-versions scripts/llama_versions.sh
  [[ -z "$FAILED" ]] || fail "failed:$FAILED; the logs are in $WORDS_DIR."
  git rev-parse HEAD >.ci/checked
  say "All passed. Commit .ci/checked, so that CI looks at what changes from here on."
}

main "$@"
