# shellcheck shell=bash
# Their variables are read by machine.sh.
# shellcheck disable=SC2034
# Tests of a libllama that is built from source.

# cargo, whose crate is a folder with a llama.cpp in it.
make_cargo() {
  local crate="$BOX/llama-cpp-sys-4-0.9.0"
  mkdir -p "$crate/llama.cpp/include" "$BOX/.cargo/registry/cache/made"
  : >"$crate/llama.cpp/CMakeLists.txt"
  : >"$crate/llama.cpp/LICENSE"
  : >"$crate/llama.cpp/include/llama.h"
  tar -C "$BOX" -czf "$BOX/.cargo/registry/cache/made/llama-cpp-sys-4-0.9.0.crate" llama-cpp-sys-4-0.9.0
  stand_in cargo <<<'exit 0'
  sed -i "s/^0\.7 0\.9\.0 .*/0.7 0.9.0 $(sha256sum <"$BOX/.cargo/registry/cache/made/llama-cpp-sys-4-0.9.0.crate" |
    cut -c 1-64)/" "$BOX/now/tree/scripts/lib/llama_source.sh"
}
has_built_llama() { grep -qx built "$BOX/now/tree/.deps/prefix/usr/include/llama.h" || wrong "it is not built"; }

test_libllama_from_source_takes_the_place_of_the_package() {
  make_cargo
  llama=source
  set_up && succeeds && says "Fetching the source of llama.cpp 0.7" && has_built_llama || return 1
  : >"$BOX/now/calls"
  llama=""
  set_up && succeeds && says_nothing && has_built_llama && never_called cargo || return 1
  llama=package
  set_up && succeeds && grep -q "libllama-dev 1.0" "$BOX/now/tree/.deps/prefix/usr/include/llama.h"
}

test_source_with_other_bytes_is_not_built() {
  make_cargo
  echo more >>"$BOX/.cargo/registry/cache/made/llama-cpp-sys-4-0.9.0.crate"
  llama=source
  set_up && fails && says "FAILED" && has_no .deps/prefix && never_called "cmake --build"
}

test_checkout_is_built_and_a_new_commit_of_it_again() {
  mkdir -p "$BOX/now/checkout/include" "$BOX/now/checkout/.git"
  : >"$BOX/now/checkout/CMakeLists.txt"
  : >"$BOX/now/checkout/LICENSE"
  : >"$BOX/now/checkout/include/llama.h"
  stand_in git <<<'echo 1'
  llama="$BOX/now/checkout"
  set_up && succeeds && has_built_llama || return 1
  set_up && succeeds && says_nothing || return 1
  stand_in git <<<'echo 2'
  set_up && succeeds && says "Building it"
}

test_choice_of_libllama_that_cannot_be_is_refused() {
  llama=/nowhere
  set_up && fails && says "/nowhere is no checkout of llama.cpp" || return 1
  llama=source:0.1
  set_up && fails && says "there is no source of llama.cpp 0.1; known are 0.7, 0.8" || return 1
  llama=sources
  set_up && fails && says "it is 'source'" || return 1
  llama=source
  set_up && fails && says "apt-get install -y cargo" && never_called "apt-get update"
}

test_newer_libllama_that_the_engine_compiles_with_is_taken() {
  rm "$BOX/now/offer"
  offer libllama-dev 2.0
  set_up && succeeds && says "Compiling the engine's files with the new libllama" || return 1
  grep -q "libllama-dev 2.0" "$BOX/now/tree/.deps/prefix/usr/include/llama.h" || wrong "it is not taken"
}

test_newer_libllama_with_another_interface_is_built_from_source_instead() {
  : >"$BOX/now/other-interface"
  rm "$BOX/now/offer"
  offer libllama-dev 2.0
  set_up && fails && says "has an interface that Cairn was not made for" && says "install -y cargo" || return 1
  make_cargo
  set_up && succeeds && has_built_llama || return 1
  : >"$BOX/now/calls"
  set_up && succeeds && says_nothing && has_built_llama
}

test_locked_libllama_is_not_compiled_with() {
  : >"$BOX/now/other-interface"
  set_up && succeeds && never_called "-fsyntax-only"
}

test_backends_do_not_go_with_a_libllama_from_source() {
  make_cargo
  make_gpu
  offer_backends
  llama=source
  set_up && succeeds && says "from source is built for the CPU alone" && has_no "$MADE_BACKENDS" || return 1
  backends=rpc
  set_up && fails && says "CAIRN_BACKENDS=rpc names packages for the distribution's libllama"
}

test_source_that_does_not_build_says_so() {
  make_cargo
  : >"$BOX/now/broken-source"
  llama=source
  set_up && fails && says "could not be built from its source" && has_no .deps/stamp
}
