# shellcheck shell=bash
# Which compiler a build folder has, and which it may get. Needs common.sh.

# clang with precompiled headers and lld halves the time of a build (docs/testing.md). CXX in the
# environment is somebody's choice.
can_use_clang() { [[ -z "${CXX:-}" ]] && have clang++-19 && have ld.lld-19; }

# The folder that holds, or will hold, a build by the system's compiler: build/ unless clang has it.
release_folder() {
  if [[ -f build/preset && "$(<build/preset)" == clang ]]; then echo build-release; else echo build; fi
}
