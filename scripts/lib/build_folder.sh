# shellcheck shell=bash
# Which compiler a build folder has, and which it may get. Needs common.sh.

# clang with precompiled headers and lld halves the time of a build (docs/testing.md). CXX in the
# environment is somebody's choice.
can_use_clang() { [[ -z "${CXX:-}" ]] && have clang++-19 && have ld.lld-19; }

# The folder that holds, or will hold, a build with the preset `release`: build/ unless it has another.
release_folder() {
  if [[ -f build/preset && "$(<build/preset)" != release ]]; then echo build-release; else echo build; fi
}
