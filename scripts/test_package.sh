#!/usr/bin/env bash
# Installs a package that `make package` made in a fresh system and uses it there: --version, a made
# model, a server, one chat. Needs root, mmdebstrap, curl and build/cairn-lab. What is tried says the environment:
#   KIND   bundled, the package with its libraries inside (the default), or system, the one that
#          depends on the system's libllama
#   SUITE  the Debian to try it in: this machine's own, or sid for KIND=system
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/prefix.sh
source scripts/lib/prefix.sh
# shellcheck source=scripts/lib/system.sh
source scripts/lib/system.sh

choose_kind_and_suite
readonly PROMPT='{"messages": [{"role": "user", "content": "What is a cairn?"}], "max_tokens": 8}'
WORK=""
SERVER=""

# Prints what keeps this machine from the test; nothing when nothing does.
lacks() {
  local complaint
  complaint="$(system_complaint)"
  if [[ -n "$complaint" ]]; then
    echo "$complaint"
  elif ! have curl; then
    echo "curl is not here (apt-get install curl)"
  fi
}

clean_up() {
  if [[ -n "$SERVER" ]]; then kill "$SERVER" 2>/dev/null || true; fi
  if [[ -n "$WORK" ]]; then rm -rf "$WORK"; fi
}

# The package holds the server alone; models are made by a program of the build.
make_model() { build/cairn-lab model make llama "$1" --width 64 --layers 2; }

url() { sed -n 's|.* \(http://127\.0\.0\.1:[0-9]*\)$|\1|p' "$WORK/server.log"; }

start_server() {
  local tries
  : >"$WORK/server.log"
  chroot "$WORK/system" cairn serve -m /model.gguf --port 0 -t 1 --cache-disk 0 \
    >"$WORK/server.log" 2>&1 &
  SERVER="$!"
  for ((tries = 0; tries < 600; tries++)); do
    if [[ -n "$(url)" ]]; then return 0; fi
    kill -0 "$SERVER" 2>/dev/null || break
    sleep 0.1
  done
  cat "$WORK/server.log"
  return 1
}

# What the program loaded, by the names it has in the system.
loaded_libraries() {
  awk '$6 ~ /\.so/ { print $6 }' "/proc/$SERVER/maps" | sed "s|^$WORK/system||" | sort -u
}

# What a package with its libraries inside loads beside them would be the system's, of another age;
# the other kind has none of its own.
strange_libraries() {
  case "$KIND" in
    bundled) loaded_libraries | grep -v "^/usr/lib/cairn/" || true ;;
    system) loaded_libraries | grep "/cairn/" || true ;;
  esac
}

ask() {
  local answer strange
  answer="$(curl -sS -m 60 "$(url)/v1/chat/completions" -H 'Content-Type: application/json' \
    -d "$PROMPT")"
  [[ "$answer" == *'"completion_tokens":8'* ]] || fail "the chat was answered so: $answer"
  strange="$(strange_libraries)"
  [[ -z "$strange" ]] || fail "these libraries should not be loaded: $strange"
}

check_manual() {
  local file
  for file in man/man1/cairn.1.gz man/man1/cairn-serve.1.gz zsh/vendor-completions/_cairn \
    bash-completion/completions/cairn fish/vendor_completions.d/cairn.fish doc/cairn/copyright; do
    [[ -s "$WORK/system/usr/share/$file" ]] || fail "/usr/share/$file is not in the package"
  done
}

remove_package() {
  chroot "$WORK/system" dpkg --purge cairn
  [[ ! -e "$WORK/system/usr/bin/cairn" && ! -e "$WORK/system/usr/lib/cairn" ]]
}

# Only the kind that brings no libraries asks apt for them.
check_dependencies() {
  local depends
  depends="$(dpkg-deb -f "$1" Depends)"
  case "$KIND" in
    bundled) [[ -z "$depends" ]] || fail "$1 has its libraries inside, but depends on $depends" ;;
    system)
      [[ "$depends" == *libllama* ]] || fail "$1 depends on no libllama, but on $depends"
      [[ "$(dpkg-deb -f "$1" Recommends)" == *backend-vulkan* ]] ||
        fail "$1 does not recommend ggml's Vulkan backend"
      ;;
  esac
}

main() {
  local missing package
  [[ "$KIND" != tar ]] || exec scripts/test_package_tar.sh
  missing="$(lacks)"
  [[ -z "$missing" ]] || fail "the package cannot be tried here: $missing."
  package="$(ls "$(package_folder "$KIND" "$SUITE")"/*.deb)"
  check_dependencies "$package"
  WORK="$(mktemp -d)"
  trap clean_up EXIT
  run_step "Making a fresh $SUITE" build/package-system.log make_system "$SUITE" "$WORK/system"
  run_step "Installing $package" build/package-install.log \
    install_in_system "$WORK/system" "$package"
  chroot "$WORK/system" cairn --version
  make_model "$WORK/system/model.gguf"
  # Not a step of its own: its process must stay this shell's.
  start_server
  ask
  kill "$SERVER"
  wait "$SERVER" || fail "the server did not end cleanly"
  SERVER=""
  check_manual
  run_step "Removing it" build/package-remove.log remove_package
  say "The package installs, serves and goes without a trace."
}

main "$@"
