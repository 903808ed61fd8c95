#!/usr/bin/env bash
# Tests of scripts/setup.sh on made machines: every tool it runs is a stand-in from a folder that
# is the whole PATH, and the mirror's offer is a text file. No network, no root, a few seconds.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly ROOT
# shellcheck source=scripts/lib/common.sh
source "$ROOT/scripts/lib/common.sh"
BOX="$(mktemp -d)"
trap 'rm -rf "$BOX"' EXIT
failures=0
passes=0
# shellcheck source=scripts/setup_tests/machine.sh
source "$ROOT/scripts/setup_tests/machine.sh"
# shellcheck source=scripts/setup_tests/elsewhere.sh
source "$ROOT/scripts/setup_tests/elsewhere.sh"
# shellcheck source=scripts/setup_tests/llama.sh
source "$ROOT/scripts/setup_tests/llama.sh"

# --- the tests ------------------------------------------------------------------------------------

test_second_run_does_nothing() {
  set_up && succeeds && has .deps/prefix/usr/include/llama.h && has .deps/stamp || return 1
  : >"$BOX/now/calls"
  set_up && succeeds && says_nothing && never_called . || return 1
}

test_nothing_half_done_is_left() {
  set_up && succeeds || return 1
  [[ -z "$(find "$BOX/now/tree/.deps" -name 'work.*')" ]] || wrong "work folders are left"
}

test_package_of_same_version_with_other_bytes_stops() {
  sed -i "s/^\(libllama-dev 1.0 amd64\) .*/\1 0000/" "$BOX/now/tree/deps.lock"
  set_up && fails && says "libllama-dev 1.0: deps.lock says 0000" || return 1
  has_no .deps/prefix && has_no .deps/stamp && never_called --download-only
}

test_damaged_download_stops_and_can_be_repeated() {
  echo " damaged" >"$BOX/now/damage"
  set_up && fails && says "other bytes than the mirror's lists say" || return 1
  has_no .deps/prefix && has_no .deps/stamp && has_no .deps/archives || return 1
  rm "$BOX/now/damage"
  set_up && succeeds && has .deps/prefix/usr/include/llama.h
}

test_version_that_moved_on_is_taken_and_named() {
  rm "$BOX/now/offer"
  offer libllama-dev 1.1
  offer libc6 2.1
  set_up && succeeds && says "libllama-dev 1.0 -> 1.1" && says "1 of the packages" || return 1
  grep -q "^libllama-dev 1.1 " "$BOX/now/tree/.deps/lock" || wrong "the lock of what is used is old"
  grep -q "^libllama-dev 1.0 " "$BOX/now/tree/deps.lock" || wrong "the tracked lock has changed"
}

test_changed_lock_brings_new_libraries() {
  set_up && succeeds || return 1
  rm "$BOX/now/offer" "$BOX/now/tree/deps.lock"
  offer libllama-dev 1.1
  locked libllama-dev 1.1
  set_up && succeeds || return 1
  grep -q "libllama-dev 1.1" "$BOX/now/tree/.deps/prefix/usr/include/llama.h" ||
    wrong "the old library is still there"
}

test_lock_is_rewritten_on_demand() {
  rm "$BOX/now/offer"
  offer libllama-dev 1.1
  offer_backends
  set_up --update-lock && succeeds || return 1
  [[ "$(head -n 1 "$BOX/now/tree/deps.lock")" == "libggml0-backend-blas 1.0 amd64 "* ]] ||
    wrong "deps.lock does not hold the backends" || return 1
  grep -qx "libllama-dev 1.1 amd64 $(sum_of libllama-dev 1.1)" "$BOX/now/tree/deps.lock" ||
    wrong "deps.lock does not hold the offer" || return 1
  grep -qx "libllama-dev 1.1 arm64 $(sum_of libllama-dev 1.1)" "$BOX/now/tree/deps.lock" ||
    wrong "deps.lock does not hold that of arm64" || return 1
  has_no "$MADE_BACKENDS"
}

test_system_libraries_go_first() {
  : >"$BOX/now/system"
  set_up && succeeds && never_called apt-get && has_no .deps/prefix || return 1
  grep -q "^source=system" "$BOX/now/tree/.deps/stamp" || wrong "the stamp names another source"
}

test_lost_system_libraries_are_noticed() {
  : >"$BOX/now/system"
  set_up && succeeds || return 1
  rm "$BOX/now/system"
  set_up && succeeds && has .deps/prefix/usr/include/llama.h
}

test_system_without_apt_is_told_what_to_install() {
  rm "$BOX/now/bin/apt-get" "$BOX/now/bin/dpkg"
  set_up && fails && says "llama.cpp 0.7" && says "CMAKE_PREFIX_PATH" && says "nlohmann-json"
}

test_refused_signature_is_said_plainly() {
  echo "W: GPG error: NO_PUBKEY 0123" >"$BOX/now/refusal"
  set_up && fails && says "refuses the signature" && has_no .deps/prefix
}

test_silent_mirror_is_not_taken_for_a_bad_signature() {
  echo "E: Failed to fetch" >"$BOX/now/refusal"
  set_up && fails && says "could not be read" && has_no .deps/stamp
}

test_other_architecture_relies_on_apt_and_says_so() {
  echo riscv64 >"$BOX/now/architecture"
  sed -i "s/^\(libllama-dev 1.0 amd64\) .*/\1 0000/" "$BOX/now/tree/deps.lock"
  set_up && succeeds && says "no checksums for riscv64"
}

test_each_architecture_has_its_own_checksums() {
  echo arm64 >"$BOX/now/architecture"
  sed -i "s/^\(libllama-dev 1.0 amd64\) .*/\1 0000/" "$BOX/now/tree/deps.lock"
  echo "libllama-dev 1.0 arm64 $(sum_of libllama-dev 1.0)" >>"$BOX/now/tree/deps.lock"
  set_up && succeeds || return 1
  sed -i "s/^\(libllama-dev 1.0 arm64\) .*/\1 1111/" "$BOX/now/tree/deps.lock"
  set_up && fails && says "libllama-dev 1.0: deps.lock says 1111"
}

test_tools_missing_without_root_are_one_line_to_type() {
  rm "$BOX/now/bin/ninja" "$BOX/now/bin/id"
  stand_in id <<<'echo 1000'
  set_up && fails && never_called "apt-get install" || return 1
  says "sudo apt-get update && sudo apt-get install -y ninja-build"
}

test_tools_missing_are_installed_as_root() {
  rm "$BOX/now/bin/ninja" "$BOX/now/bin/id"
  stand_in id <<<'echo 0'
  set_up
  called "apt-get install -y --no-install-recommends ninja-build"
}

test_developers_tools_are_asked_for_only_with_dev() {
  rm "$BOX/now/bin/id"
  stand_in id <<<'echo 1000'
  set_up && succeeds || return 1
  set_up --dev && fails && says "clang-format-19 clang-tidy-19 clang-19 lld-19 libclang-rt-19-dev shellcheck pkg-config"
}

test_clang_for_quick_builds_is_installed_by_root_before_the_first_build() {
  rm "$BOX/now/bin/id"
  stand_in id <<<'echo 0'
  set_up && succeeds && never_called clang-19 || return 1
  set_up --test && succeeds && called "apt-get install -y --no-install-recommends clang-19 lld-19" || return 1
  : >"$BOX/now/calls"
  mkdir -p "$BOX/now/tree/build"
  : >"$BOX/now/tree/build/CMakeCache.txt"
  set_up --test && succeeds && says_nothing && never_called clang-19
}

test_clang_for_quick_builds_is_nothing_to_ask_a_user_for() {
  rm "$BOX/now/bin/id"
  stand_in id <<<'echo 1000'
  set_up --test && succeeds && never_called clang-19
}

test_machine_without_clang_is_set_up_all_the_same() {
  rm "$BOX/now/bin/id"
  stand_in id <<<'echo 0'
  : >"$BOX/now/no-clang"
  set_up --test && succeeds && says "takes twice as long" && has .deps/stamp
}

test_clang_without_its_fuzzer_is_given_it() {
  rm "$BOX/now/bin/id"
  stand_in id <<<'echo 1000'
  make_developers_tools
  set_up --dev && succeeds || return 1
  rm -r "$BOX/now/lib/clang"
  set_up --dev && fails && says "apt-get install -y libclang-rt-19-dev"
}

test_browser_is_asked_for_only_when_it_is_named() {
  rm "$BOX/now/bin/id"
  stand_in id <<<'echo 1000'
  make_developers_tools
  set_up --dev && succeeds || return 1
  set_up --dev --browser && fails && says "apt-get install -y chromium" || return 1
  set_up --browser --dev && fails && says "apt-get install -y chromium" && says "nodejs npm"
}

make_developers_tools() {
  local tool
  for tool in clang-format-19 clang-tidy-19 clang++-19 ld.lld-19 shellcheck pkg-config; do
    stand_in "$tool" </dev/null
  done
  mkdir -p "$BOX/now/lib/clang/19/lib/linux"
  : >"$BOX/now/lib/clang/19/lib/linux/libclang_rt.fuzzer-made.a"
  # With jinja2. It is asked in every run, which is no call of a tool.
  printf '#!%s\n' "$(command -v bash)" >"$BOX/now/bin/python3"
  chmod +x "$BOX/now/bin/python3"
}

test_promtool_is_taken_out_of_its_package() {
  make_developers_tools
  : >"$BOX/now/prometheus"
  set_up && succeeds && has_no .deps/tools/promtool || return 1
  set_up --dev && succeeds && has .deps/tools/promtool || return 1
  never_called "apt-get install -y" || return 1
  : >"$BOX/now/calls"
  set_up --dev && succeeds && says_nothing && never_called .
}

test_promtool_of_the_machine_goes_first() {
  make_developers_tools
  stand_in promtool </dev/null
  set_up --dev && succeeds && has_no .deps/tools/promtool
}

test_machine_without_promtool_is_set_up_all_the_same() {
  make_developers_tools
  set_up --dev && succeeds && says "Without promtool" && has .deps/stamp
}

# The machine has a GPU, and the mirror has backends for it.
make_gpu() {
  mkdir -p "$BOX/now/dev/dri"
  : >"$BOX/now/dev/dri/renderD128"
}
offer_backends() {
  local name
  for name in vulkan hip blas rpc; do offer "libggml0-backend-$name" 1.0; done
}
readonly MADE_BACKENDS=.deps/prefix/lib/ggml/backends0

test_machine_with_a_gpu_gets_the_vulkan_backend() {
  make_gpu
  offer_backends
  set_up && succeeds && has "$MADE_BACKENDS/libggml-vulkan.so" || return 1
  has_no "$MADE_BACKENDS/libggml-rpc.so" || return 1
  grep -q "^libggml0-backend-vulkan 1.0 " "$BOX/now/tree/.deps/lock" ||
    wrong "the lock of what is used does not name it"
  : >"$BOX/now/calls"
  set_up && succeeds && says_nothing && never_called .
}

test_machine_without_a_gpu_gets_no_backend() {
  offer_backends
  set_up && succeeds && has_no "$MADE_BACKENDS"
}

test_software_vulkan_is_no_gpu() {
  offer_backends
  stand_in vulkaninfo <<<'echo "deviceType = PHYSICAL_DEVICE_TYPE_CPU"'
  set_up && succeeds && has_no "$MADE_BACKENDS"
}

test_gpu_that_vulkan_finds_counts() {
  offer_backends
  stand_in vulkaninfo <<<'echo "	deviceType         = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU"'
  set_up && succeeds && has "$MADE_BACKENDS/libggml-vulkan.so"
}

test_backends_are_chosen_by_hand() {
  make_gpu
  offer_backends
  backends=rpc,blas
  set_up && succeeds && has "$MADE_BACKENDS/libggml-rpc.so" && has "$MADE_BACKENDS/libggml-blas.so" &&
    has_no "$MADE_BACKENDS/libggml-vulkan.so" || return 1
  backends=none
  set_up && succeeds && has_no "$MADE_BACKENDS/libggml-rpc.so" && has_no "$MADE_BACKENDS/libggml-blas.so"
}

test_backend_that_was_left_out_comes_back() {
  offer_backends
  backends=vulkan
  set_up && succeeds || return 1
  backends=none
  set_up && succeeds && has_no "$MADE_BACKENDS/libggml-vulkan.so" || return 1
  backends=vulkan
  set_up && succeeds && has "$MADE_BACKENDS/libggml-vulkan.so"
}

test_locked_backends_are_not_unpacked_unasked() {
  local name
  offer_backends
  for name in vulkan blas rpc; do locked "libggml0-backend-$name" 1.0; done
  set_up && succeeds && has_no "$MADE_BACKENDS" || return 1
  if grep -q backend "$BOX/now/tree/.deps/lock"; then
    wrong "the lock of what is used names backends"
  fi
}

test_backend_of_same_version_with_other_bytes_stops() {
  offer_backends
  locked libggml0-backend-vulkan 1.0
  sed -i "s/^\(libggml0-backend-vulkan 1.0 amd64\) .*/\1 0000/" "$BOX/now/tree/deps.lock"
  backends=vulkan
  set_up && fails && says "libggml0-backend-vulkan 1.0: deps.lock says 0000" || return 1
  has_no "$MADE_BACKENDS" && has_no .deps/stamp && never_called "apt-get download"
}

test_blas_is_found_where_the_loader_looks() {
  offer_backends
  offer libblas3 1.0
  backends=blas
  set_up && succeeds || return 1
  [[ -e "$BOX/now/tree/.deps/prefix/lib/libblas.so.3" ]] || wrong "nothing links to the BLAS"
}

# The tracked lock itself, beside the libggml that loads them.
test_tracked_lock_names_the_backends() {
  local name library version
  read -r library version < <(awk '$1 ~ /^libggml[0-9]+$/ { print $1, $2 }' "$ROOT/deps.lock")
  for name in {vulkan,blas,rpc}" $version "{amd64,arm64}; do
    output="$library is $version"
    code=0
    grep -q "^$library-backend-$name [0-9a-f]\{64\}$" "$ROOT/deps.lock" ||
      wrong "deps.lock has no $library-backend-$name" || return 1
  done
}

test_another_backend_later_exchanges_no_library() {
  offer_backends
  set_up && succeeds || return 1
  echo kept >"$BOX/now/tree/.deps/prefix/usr/include/mine.h"
  backends=vulkan
  set_up && succeeds && has "$MADE_BACKENDS/libggml-vulkan.so" && has .deps/prefix/usr/include/mine.h
}

# The day on which the distribution has libggml1, whose backends are named after it.
move_to_libggml1() {
  local name
  rm "$BOX/now/offer"
  offer libllama-dev 1.1
  offer libggml1 1.1
  for name in vulkan hip blas rpc; do offer "libggml1-backend-$name" 1.1; done
}

test_backends_are_named_after_todays_libggml() {
  move_to_libggml1
  backends=vulkan,rpc
  set_up && succeeds && has .deps/prefix/lib/ggml/backends1/libggml-vulkan.so || return 1
  grep -q "^libggml1-backend-rpc 1.1 " "$BOX/now/tree/.deps/lock" || wrong "the lock lacks it" || return 1
  : >"$BOX/now/calls"
  set_up && succeeds && says_nothing && never_called . || return 1
  backends=none
  set_up && succeeds && has_no .deps/prefix/lib/ggml/backends1/libggml-vulkan.so || return 1
  if grep -q backend "$BOX/now/tree/.deps/lock"; then wrong "the lock still names backends"; fi
}

test_backend_after_the_distribution_moved_on_brings_its_library() {
  offer libggml0 1.0
  offer_backends
  set_up && succeeds || return 1
  move_to_libggml1
  backends=vulkan
  set_up && succeeds && has .deps/prefix/lib/ggml/backends1/libggml-vulkan.so || return 1
  grep -q "^libggml1 1.1 " "$BOX/now/tree/.deps/lock" || wrong "the library is still the old one"
}

test_lock_is_rewritten_with_todays_names() {
  move_to_libggml1
  set_up --update-lock && succeeds || return 1
  grep -q "^libggml1-backend-vulkan 1.1 " "$BOX/now/tree/deps.lock" || wrong "deps.lock lacks them"
}

# What apt-cache says of the mirror's names that begin with a text.
stand_in_for_names() {
  printf '%s\n' "$@" >"$BOX/now/names"
  stand_in apt-cache <<<"grep \"^\$2\" '$BOX/now/names' || true"
}

test_packages_with_a_number_in_their_name_are_found() {
  echo libllama-dev >"$BOX/now/gone"
  stand_in_for_names libllama1-dev libllama2-dev libllama2 libllama-tools-dev llama.cpp-tools \
    llama.cpp-tests
  set_up && succeeds && called "print-uris libllama2-dev llama.cpp-tools" &&
    called "download-only libllama2-dev"
}

test_optional_packages_may_be_gone() {
  echo llama.cpp-tests >"$BOX/now/gone"
  stand_in_for_names libllama-dev llama.cpp-tools
  set_up && succeeds && called "download-only libllama-dev llama.cpp-tools libcpp-httplib-dev"
}

test_needed_package_that_is_gone_is_named() {
  echo libllama-dev >"$BOX/now/gone"
  stand_in_for_names llama.cpp-tools llama.cpp-tests
  set_up && fails && says "Unable to locate libllama-dev" && has_no .deps/stamp
}

test_system_with_a_newer_libllama_than_was_tried_is_told_in_one_line() {
  : >"$BOX/now/system"
  echo "Warning: libllama 1.0.0 is newer than 0.8, the newest" >"$BOX/now/said-of-llama"
  set_up && succeeds && says "  libllama 1.0.0 is newer than 0.8" && has .deps/stamp || return 1
  set_up && succeeds && says_nothing
}

test_system_with_an_old_libllama_gets_a_prefix() {
  echo "  libllama 0.6.0 is too old: Cairn needs 0.7 or newer (/usr)" >"$BOX/now/said-of-llama"
  set_up && succeeds && says "libllama 0.6.0 is too old: Cairn needs 0.7 or newer." || return 1
  has .deps/prefix/usr/include/llama.h
}

test_system_with_an_old_libllama_and_without_apt_is_told_its_version() {
  rm "$BOX/now/bin/apt-get" "$BOX/now/bin/dpkg"
  echo "  libllama 0.6.0 is too old: Cairn needs 0.7 or newer (/usr)" >"$BOX/now/said-of-llama"
  set_up && fails && says "libllama 0.6.0 is too old" && says "install llama.cpp 0.7 or newer"
}

test_unknown_backend_is_refused() {
  backends=vulcan
  set_up && fails && says "there is no backend 'vulcan'" && says "vulkan, hip, blas, rpc, and none"
}

test_backend_named_by_hand_that_cannot_be_had_stops() {
  backends=vulkan
  set_up && fails && says "CAIRN_BACKENDS=vulkan cannot be had" && has_no .deps/stamp
}

test_gpu_without_a_package_is_set_up_for_the_cpu() {
  make_gpu
  set_up && succeeds && says "no package of a backend" && has .deps/stamp || return 1
  : >"$BOX/now/calls"
  set_up && succeeds && says_nothing && never_called .
}

test_system_libraries_leave_backends_to_the_system() {
  : >"$BOX/now/system"
  make_gpu
  set_up && succeeds && says "install: libggml0-backend-vulkan" && never_called apt-get
}

test_old_compiler_is_named() {
  stand_in c++ <<<'echo 9'
  set_up && fails && says "is g++ 9, needed is 12"
}

# --- running them ---------------------------------------------------------------------------------

run_test() {
  local result
  new_machine
  if result="$("$1")"; then
    passes=$((passes + 1))
    echo "  ok    ${1#test_}"
  else
    failures=$((failures + 1))
    printf '  FAIL  %s\n%s\n' "${1#test_}" "$result"
  fi
}

main() {
  local name
  while read -r name; do run_test "$name"; done < <(compgen -A function test_)
  echo "$passes passed, $failures failed"
  [[ "$failures" -eq 0 && "$passes" -gt 0 ]]
}

main
