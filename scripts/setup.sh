#!/usr/bin/env bash
# Makes everything the build needs: tools, then libllama and the other libraries. A second run
# does nothing. With a GPU it takes ggml's Vulkan backend too (CAIRN_BACKENDS=vulkan,hip,blas,rpc or
# none decides by hand; scripts/lib/backends.sh). CAIRN_LLAMA has libllama built from source
# (scripts/lib/llama_source.sh).
# Usage: scripts/setup.sh [--test] [--dev] [--browser] [--update-lock]
#   --test         clang and lld too, as root on a Debian that has them: the build takes half of the time
#   --dev          the formatter, the linters and promtool too
#   --browser      those, the browser of some tests, Node.js for the page it shows, and HAProxy
#   --update-lock  write today's versions and checksums to deps.lock first
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly ROOT
readonly PREFIX="$ROOT/.deps/prefix"
readonly STAMP="$ROOT/.deps/stamp"
WORK=""
WANT_CLANG=no
# shellcheck source=scripts/lib/common.sh
source "$ROOT/scripts/lib/common.sh"
# shellcheck source=scripts/lib/host_tools.sh
source "$ROOT/scripts/lib/host_tools.sh"
# shellcheck source=scripts/lib/lock.sh
source "$ROOT/scripts/lib/lock.sh"
# shellcheck source=scripts/lib/prefix.sh
source "$ROOT/scripts/lib/prefix.sh"
# shellcheck source=scripts/lib/llama_source.sh
source "$ROOT/scripts/lib/llama_source.sh"
# shellcheck source=scripts/lib/backends.sh
source "$ROOT/scripts/lib/backends.sh"

# Everything that could make yesterday's set-up wrong today.
stamp_hash() {
  {
    cat "$ROOT/scripts/setup.sh" "$ROOT"/scripts/lib/*.sh "$ROOT"/cmake/{Libraries,Llama}.cmake
    cat "$ROOT/deps.lock" 2>/dev/null || true
    echo "${CMAKE_PREFIX_PATH:-}|${CXX:-}|$(uname -sm)"
    llama_marker
  } | sha256 | cut -c 1-64
}

# The stamp: "source=system|prefix", "llama=FILE" (a file that is there as long as the source is),
# "hash=...". CMake reads the first line.
write_stamp() {
  printf 'source=%s\nllama=%s\nhash=%s\n' "$1" "$2" "$(stamp_hash)" >"$STAMP.new"
  mv "$STAMP.new" "$STAMP"
}

stamp_value() { sed -n "s/^$1=//p" "$STAMP"; }

# is_set_up TOOLS
is_set_up() {
  [[ -f "$STAMP" && -z "$(missing_tools "$1")" ]] && ! lacks_promtool "$1" && ! lacks_clang "$1" &&
    [[ -f "$(stamp_value llama)" && "$(stamp_value hash)" == "$(stamp_hash)" ]] &&
    { [[ "$(stamp_value source)" == system ]] || backends_are_current; }
}

# The linker and the loader take these characters of a path for their own.
check_path() {
  if [[ "$ROOT" == *[,:\;\"\'\$\\]* ]]; then
    fail "$ROOT: programs cannot be linked in a folder with one of , : ; \$ \\ or a quote in its path." \
      "Clone Cairn to another one."
  fi
}

# One set-up at a time in one tree; what a run leaves half done goes with it.
begin_work() {
  check_path
  mkdir -p "$ROOT/.deps"
  if have flock; then
    exec 9>"$ROOT/.deps/running"
    flock 9
  fi
  rm -rf "$ROOT"/.deps/work.*
  WORK="$(mktemp -d "$ROOT/.deps/work.XXXXXX")"
  trap 'rm -rf "$WORK"' EXIT
  printf '#!/bin/sh\n' >"$WORK/program"
  chmod +x "$WORK/program"
  "$WORK/program" 2>/dev/null ||
    fail "$ROOT is on a file system that runs no programs (mounted noexec?), and a build runs those" \
      "that it makes. Clone Cairn to another one."
}

# probe_libraries [cmake's arguments]: does CMake find all libraries?
probe_libraries() {
  rm -rf "$WORK/probe"
  cmake -S "$ROOT/cmake/probe" -B "$WORK/probe" -G Ninja "$@"
}

# What cmake/Llama.cmake says of the version that the probe found; nothing if there is nothing to say.
# llama_warning LOG, llama_complaint LOG
llama_warning() { sed -n 's/^Warning: \(libllama .*\)/  \1/p' "$1"; }
llama_complaint() { sed -n 's/^ *\(libllama .* is too old: .* or newer\).*/\1/p' "$1" | head -n 1; }

llama_minimum() { sed -n 's/^set(CAIRN_LLAMA_MIN \(.*\))$/\1/p' "$ROOT/cmake/Llama.cmake"; }

# stop_unsupported WHY...
stop_unsupported() {
  local complaint
  complaint="$(llama_complaint "$WORK/system.log")"
  fail "${complaint:-libllama was not found}, and it cannot be fetched: $*
Without that, install llama.cpp $(llama_minimum) or newer with its CMake package, and nlohmann-json, CLI11," \
    "spdlog, tl-expected, xxHash, zstd, OpenSSL, cpp-httplib, RE2, stb, miniaudio, libwebp, libzmq," \
    "hiredis (with TLS), libcurl, GoogleTest and RapidCheck; if they are in a prefix of their own, set" \
    "CMAKE_PREFIX_PATH=/path/to/prefix. Then run this again."
}

# A system without the libraries is no error.
system_has_libraries() {
  probe_libraries -Wno-dev >"$WORK/system.log" 2>&1
}

ensure_libraries() {
  local complaint
  check_llama_choice
  : >"$WORK/system.log"
  if [[ -z "$(chosen_llama)" ]] && system_has_libraries; then
    write_stamp system "$(cat "$WORK/probe/llama_config")"
    say "Using this system's libllama: $(stamp_value llama)"
    llama_warning "$WORK/system.log"
    tell_backends
    return 0
  fi
  [[ "$("$(compiler)" -dumpmachine)" != *musl* ]] ||
    stop_unsupported "the compiler here makes programs for musl, and Debian's libraries need glibc." \
      "The archive that \`make package KIND=tar\` makes on another machine runs here."
  complaint="$(prefix_complaint)"
  [[ -z "$complaint" ]] || stop_unsupported "$complaint"
  complaint="$(llama_complaint "$WORK/system.log")"
  [[ -z "$complaint" ]] || say "Of this system: $complaint. A private prefix gets one."
  prefix_is_current || make_prefix
  backends_are_current || ensure_backends
  keep_llama_choice
  write_stamp prefix "$PREFIX/usr/include/llama.h"
}

main() {
  local tools=0 renew=0 argument
  for argument in "$@"; do
    case "$argument" in
      --test) WANT_CLANG=yes ;;
      --dev) if [[ "$tools" -eq 0 ]]; then tools=1; fi ;;
      --browser) tools=2 ;;
      --update-lock) renew=1 ;;
      *) fail "unknown argument $argument; see the head of scripts/setup.sh" ;;
    esac
  done
  if [[ "$renew" -eq 0 ]] && is_set_up "$tools"; then exit 0; fi
  begin_work
  # Whoever waited for another run finds its work done.
  if [[ "$renew" -eq 0 ]] && is_set_up "$tools"; then exit 0; fi
  ensure_tools "$tools"
  [[ "$renew" -eq 0 ]] || update_lock
  ensure_libraries
}

main "$@"
