#!/usr/bin/env bash
# Installs the package that scripts/package.sh made in a fresh system of this machine's own release
# and uses it there: --version, a made model, a server, one chat. Needs root, mmdebstrap and curl.
# The mirror is the one that this machine's apt is set up for.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/prefix.sh
source scripts/lib/prefix.sh

readonly PROMPT='{"messages": [{"role": "user", "content": "What is a cairn?"}], "max_tokens": 8}'
WORK=""
SERVER=""

# Prints what keeps this machine from the test; nothing when nothing does.
lacks() {
  if [[ "$(id -u)" -ne 0 ]]; then
    echo "it makes a system to install in, which takes root"
  elif ! have mmdebstrap; then
    echo "mmdebstrap is not here (apt-get install mmdebstrap)"
  elif ! have curl; then
    echo "curl is not here (apt-get install curl)"
  elif [[ -z "$(debian_mirrors)" ]]; then
    echo "apt is not set up for a Debian mirror here"
  fi
}

clean_up() {
  if [[ -n "$SERVER" ]]; then kill "$SERVER" 2>/dev/null || true; fi
  if [[ -n "$WORK" ]]; then rm -rf "$WORK"; fi
}

# Reaches the network as this machine's apt does: proxies, certificates, retries.
make_system() {
  local release mirror
  release="$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)"
  mirror="$(debian_mirrors | head -n 1)"
  apt-config dump |
    sed -n '/^Acquire::\(IndexTargets\|Languages\|Changelogs\)/d; /^Acquire::/p' >"$WORK/apt.conf"
  mmdebstrap --variant=apt --aptopt="$WORK/apt.conf" "$release" "$WORK/system" "$mirror"
}

# A package that depends on the system's libraries gets them from apt, as any would.
install_package() {
  cp "$1" "$WORK/system/cairn.deb"
  chroot "$WORK/system" apt-get install -y --no-install-recommends /cairn.deb
}

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

# Whatever the program loaded beside the bundled libraries would be the system's, of another age.
strange_libraries() {
  [[ -d "$WORK/system/usr/lib/cairn" ]] || return 0
  awk '$6 ~ /\.so/ { print $6 }' "/proc/$SERVER/maps" | sort -u | grep -v "/usr/lib/cairn/" || true
}

ask() {
  local answer strange
  answer="$(curl -sS -m 60 "$(url)/v1/chat/completions" -H 'Content-Type: application/json' \
    -d "$PROMPT")"
  [[ "$answer" == *'"completion_tokens":8'* ]] || fail "the chat was answered so: $answer"
  strange="$(strange_libraries)"
  [[ -z "$strange" ]] || fail "libraries that are not the package's own are loaded: $strange"
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

main() {
  local missing package
  missing="$(lacks)"
  [[ -z "$missing" ]] || fail "the package cannot be tried here: $missing."
  package="$(ls build/package/*.deb)"
  WORK="$(mktemp -d)"
  trap clean_up EXIT
  run_step "Making a fresh system" build/package-system.log make_system
  run_step "Installing $package" build/package-install.log install_package "$package"
  chroot "$WORK/system" cairn --version
  chroot "$WORK/system" cairn model make llama /model.gguf --width 64 --layers 2
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
