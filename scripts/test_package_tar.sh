#!/usr/bin/env bash
# Unpacks the archive of `make package KIND=tar` in a folder that has nothing but a static busybox, no
# loader, no C library and no package tools, and uses it there as nobody: a made model, a server, a chat,
# a restart that goes on from disk, and a server that starts another one. Needs root, curl, a static
# busybox (Debian: busybox-static) and build/cairn-lab.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/made_server.sh
source scripts/made_server.sh

readonly NOBODY=65534
WORK=""

lacks() {
  if [[ "$(id -u)" -ne 0 ]]; then
    echo "it works in a folder as if it were a system, which takes root"
  elif ! have curl; then
    echo "curl is not here (apt-get install curl)"
  elif ! have busybox || [[ "$(file -Lb "$(command -v busybox)")" != *static* ]]; then
    echo "a static busybox is not here (apt-get install busybox-static file)"
  fi
}

# The archive lies in a folder with a space, belongs to root, and is reached by a link.
make_bare_system() {
  local system="$WORK/system" name
  mkdir -p "$system"/{bin,dev,etc,proc,tmp,models,cache} "$system/my programs"
  cp "$(command -v busybox)" "$system/bin/busybox"
  for name in sh readlink tar gzip; do ln -s busybox "$system/bin/$name"; done
  cp "$1" "$system/archive.tar.gz"
  chroot "$system" /bin/tar -xzf /archive.tar.gz -C "/my programs"
  ln -s "../my programs/$(basename "$1" .tar.gz)/cairn" "$system/bin/cairn"
  build/cairn-lab model make falcon-h1 "$system/models/made.gguf" --width 64 --layers 2
  chown -R "$NOBODY" "$system/cache" "$system/models"
}

# The words before a command that is to run there as nobody, with a /proc and this machine's /dev: an array,
# not a function, so that the process is the command's own.
# The words are the inner shell's.
# shellcheck disable=SC2016
choose_in_bare() {
  IN_BARE=(unshare --mount --propagation private sh -ec '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    folder="$1"
    user="$2"
    shift 2
    exec chroot --userspec="$user:$user" "$folder" /bin/busybox env -i PATH=/bin HOME=/cache "$@"'
    sh "$WORK/system" "$NOBODY")
}

check_libraries() {
  local strange
  strange="$(awk '$6 ~ /\.so/' "/proc/$1/maps" | grep -v "/my programs/" || true)"
  [[ -z "$strange" ]] || fail "these libraries are not the archive's: $strange"
}

# check_answer ANSWER
check_answer() {
  [[ "$1" == *'"completion_tokens":8'* ]] || fail "the chat was answered so: $1"
}

main() {
  local missing archive answer
  local words='{"role": "user", "content": "What is a cairn, and what is it built of? Say it in few words."}'
  missing="$(lacks)"
  [[ -z "$missing" ]] || fail "the archive cannot be tried here: $missing."
  archive="$(ls build/package-tar/cairn-*.tar.gz)"
  (($(stat -c %s "$archive") <= 120000000)) || fail "$archive is larger than 120 MB"
  WORK="$(mktemp -d build/package-tar-test.XXXXXX)"
  WORK="$ROOT/$WORK"
  run_step "Making a system of nothing" build/package-tar-test.log make_bare_system "$archive"
  choose_in_bare
  MADE_SERVER_PROGRAM=("${IN_BARE[@]}" cairn)
  "${IN_BARE[@]}" cairn --version
  run_server "$WORK" -m /models/made.gguf --cache-dir /cache
  check_answer "$(ask_made_server "$words")"
  check_libraries "$MADE_SERVER_PID"
  stop_made_server
  run_server "$WORK" -m /models/made.gguf --cache-dir /cache
  answer="$(ask_made_server "$words")"
  (($(cached_tokens "$answer") > 0)) || fail "nothing came back from disk: $answer"
  stop_made_server
  # Its servers are this program started again.
  run_server "$WORK" --models-dir /models
  check_answer "$(ask_made_server "$words" made)"
  stop_made_server
  rm -rf "$WORK"
  say "The archive serves, goes on after a restart and starts servers of its own, in a system of nothing."
}

main "$@"
