#!/usr/bin/env bash
# Tests of scripts/setup.sh on made machines: every tool it runs is a stand-in from a folder that
# is the whole PATH, and the mirror's offer is a text file. No network, no root, a few seconds.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly ROOT
readonly REAL_TOOLS="awk bash cat chmod cp cut dirname env find flock grep head id ln ls mkdir mktemp \
mv readlink rm sed sha256sum sort tail tar gzip tee touch tr uname wc xargs"
BOX="$(mktemp -d)"
trap 'rm -rf "$BOX"' EXIT
failures=0
passes=0

# --- the made machine ---------------------------------------------------------------------------

# stand_in NAME: a program of that name whose text is standard input. It logs its calls.
stand_in() {
  {
    printf '#!%s\necho "%s $*" >>"%s/calls"\n' "$(command -v bash)" "$1" "$BOX/now"
    cat
  } >"$BOX/now/bin/$1"
  chmod +x "$BOX/now/bin/$1"
}

make_build_tools() {
  local name
  for name in ninja make; do stand_in "$name" </dev/null; done
  stand_in c++ <<'END'
case "$1" in
  -dumpversion) echo 14 ;;
  -dumpmachine) echo x86_64-linux-gnu ;;
  -std=*) [[ ! -f "$(dirname "$0")/../other-interface" ]] ;;
  *) echo "c++ (Made) 14.0.0" ;;
esac
END
  # Finds the libraries in a prefix that has llama.h, and on a system that has the file `system`.
  stand_in cmake <<END
case "\$*" in
  --version) echo "cmake version 3.25.1" ;;
  *-DLLAMA_BUILD_MTMD=ON*) [[ ! -f "$BOX/now/broken-source" ]] ;;
  --build*) ;;
  --install*)
    mkdir -p "\$DESTDIR$BOX/now/tree/.deps/prefix/usr/include"
    : >"\$DESTDIR$BOX/now/tree/.deps/prefix/usr/libllama.so"
    echo built >"\$DESTDIR$BOX/now/tree/.deps/prefix/usr/include/llama.h" ;;
  *-DCMAKE_PREFIX_PATH=*) all="\$*"; [[ -f "\${all##*-DCMAKE_PREFIX_PATH=}/include/llama.h" ]] ;;
  *)
    cat "$BOX/now/said-of-llama" 2>/dev/null
    [[ -f "$BOX/now/system" ]] || exit 1
    for work in "$BOX/now/tree/.deps/"work.*; do
      mkdir -p "\$work/probe"
      echo "$BOX/now/system" >"\$work/probe/llama_config"
    done
    ;;
esac
END
}

make_debian_tools() {
  : >"$BOX/now/keyring"
  echo bookworm >"$BOX/now/release"
  echo amd64 >"$BOX/now/architecture"
  stand_in apt-config </dev/null
  stand_in dpkg <<END
case "\$*" in
  --print-architecture) cat "$BOX/now/architecture" ;;
  -x\ prometheus_*) mkdir -p "\$3/usr/bin" && cp "\$2" "\$3/usr/bin/promtool" && chmod +x "\$3/usr/bin/promtool" ;;
  -X\ *libggml[0-9]-backend-*)
    name="\${2##*-backend-}"
    number="\${2##*libggml}"
    folder="\$3/lib/ggml/backends\${number%%-*}"
    mkdir -p "\$folder" && cp "\$2" "\$folder/libggml-\${name%%_*}.so" ;;
  -X\ *libblas3_*) mkdir -p "\$3/lib/blas" && cp "\$2" "\$3/lib/blas/libblas.so.3" ;;
  -X*) mkdir -p "\$3/usr/include" && cat "\$2" >>"\$3/usr/include/llama.h" ;;
esac
END
  # A package's bytes are "name version"; the offer says which sum the mirror claims for it.
  stand_in apt-get <<END
architecture="\$(sed -n 's/^APT::Architecture "\(.*\)";/\1/p' "\${APT_CONFIG:-/dev/null}")"
architecture="\${architecture:-\$(cat "$BOX/now/architecture")}"
case "\$*" in
  indextargets\ --no-release-info*)
    echo "Packages|main|\$(cat "$BOX/now/release")|http://mirror.invalid/debian/" ;;
  update)
    [[ -z "\${APT_CONFIG:-}" ]] || cp "\$(dirname "\$APT_CONFIG")/sources.list" "$BOX/now/sources"
    [[ ! -f "$BOX/now/refusal" ]] || { cat "$BOX/now/refusal"; exit 100; } ;;
  *install\ *clang-19\ lld-19) [[ ! -f "$BOX/now/no-clang" ]] ;;
  download\ prometheus)
    [[ -f "$BOX/now/prometheus" ]] || { echo "E: Can't find a source"; exit 100; }
    echo made >prometheus_2.42_amd64.deb ;;
  download\ *=*)
    for asked in "\${@:2}"; do
      echo "\${asked/=/ }" >"\${asked%%=*}_\${asked##*=}_\$architecture.deb"
    done ;;
  *--print-uris*)
    while read -r name version sum; do
      case "\$name" in libggml[0-9]-backend-*) [[ " \$* " == *" \$name "* ]] || continue ;; esac
      for asked in \$*; do
        if grep -qsxF -- "\$asked" "$BOX/now/gone"; then echo "E: Unable to locate \$asked" >&2; exit 100; fi
        case "\$asked" in libggml[0-9]-backend-*)
          grep -q "^\$asked " "$BOX/now/offer" || { echo "E: Unable to locate \$asked"; exit 100; } ;;
        esac
      done
      file="\${name}_\${version}_\$architecture.deb"
      # As apt: what is in its archives already has no address.
      [[ "\$*" == *Dir::Cache::archives=* || ! -f "$BOX/now/tree/.deps/archives/\$file" ]] || continue
      echo "'http://mirror.invalid/\$file' \$file 1 SHA256:\$sum"
    done <"$BOX/now/offer" ;;
  *--download-only*)
    [[ ! -f "$BOX/now/no-download" ]] || { cat "$BOX/now/no-download"; exit 100; }
    while read -r name version sum; do
      echo "\$name \$version\$(cat "$BOX/now/damage" 2>/dev/null)" \
        >"$BOX/now/tree/.deps/archives/\${name}_\${version}_\$architecture.deb"
    done <"$BOX/now/offer" ;;
esac
END
}

# offer NAME VERSION: the mirror has it. The same, as a line of a lock file, is locked NAME VERSION.
offer() { echo "$1 $2 $(sum_of "$1" "$2")" >>"$BOX/now/offer"; }
locked() { echo "$1 $2 amd64 $(sum_of "$1" "$2")" >>"$BOX/now/tree/deps.lock"; }
sum_of() { echo "$1 $2" | sha256sum | cut -c 1-64; }

# A fresh machine with the build's tools, apt, and a mirror whose offer is what the lock names.
new_machine() {
  local tool
  rm -rf "$BOX/now"
  mkdir -p "$BOX/now/bin" "$BOX/now/tree"
  backends="" mirror="" llama=""
  : >"$BOX/now/calls"
  for tool in $REAL_TOOLS; do ln -s "$(command -v "$tool")" "$BOX/now/bin/$tool"; done
  cp -r "$ROOT/scripts" "$ROOT/cmake" "$BOX/now/tree/"
  mkdir -p "$BOX/now/tree/src/engine"/{llama,media}
  : >"$BOX/now/tree/src/engine/llama/made.cc"
  make_build_tools
  make_debian_tools
  offer libllama-dev 1.0
  offer libc6 2.0
  locked libc6 2.0
  locked libllama-dev 1.0
}

# Runs the set-up on the machine; $output is all it said and $code how it ended.
set_up() {
  code=0
  output="$(env -i PATH="$BOX/now/bin" HOME="$BOX" CAIRN_DEBIAN_KEYRING="$BOX/now/keyring" \
    CAIRN_OS_RELEASE="$BOX/now/os-release" CAIRN_DEV="$BOX/now/dev" CAIRN_BACKENDS="${backends:-}" \
    CAIRN_DEBIAN_MIRROR="${mirror:-}" CAIRN_LLAMA="${llama:-}" \
    "$BOX/now/tree/scripts/setup.sh" "$@" 2>&1)" || code=$?
}

# --- what a test may say --------------------------------------------------------------------------

wrong() {
  printf '    %s\n' "$@" "the set-up ended with $code and said:" "$output"
  return 1
}

succeeds() { [[ "$code" -eq 0 ]] || wrong "expected success"; }
fails() { [[ "$code" -ne 0 ]] || wrong "expected failure"; }
says() { [[ "$output" == *"$1"* ]] || wrong "expected the words: $1"; }
says_nothing() { [[ -z "$output" ]] || wrong "expected silence"; }
has() { [[ -e "$BOX/now/tree/$1" ]] || wrong "expected the file $1"; }
has_no() { [[ ! -e "$BOX/now/tree/$1" ]] || wrong "expected no $1"; }
called() { grep -q -- "$1" "$BOX/now/calls" || wrong "expected a call of $1"; }
never_called() { ! grep -q -- "$1" "$BOX/now/calls" || wrong "expected no call of $1"; }

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

# --- machines that are not Debian's

make_ubuntu() {
  printf 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n' >"$BOX/now/os-release"
  echo noble >"$BOX/now/release"
}
make_fedora() { printf 'NAME="Fedora Linux"\nID=fedora\n' >"$BOX/now/os-release"; }

test_other_mirrors_than_debians_are_not_used() {
  make_ubuntu
  set_up && fails && says "no mirror of Debian is known" && says "CAIRN_DEBIAN_MIRROR=URL" || return 1
  says "apt-get install -y debootstrap debian-archive-keyring" && says "CMAKE_PREFIX_PATH"
}

test_mirror_named_by_hand_is_asked() {
  make_ubuntu
  mirror=http://named.invalid/debian
  set_up && succeeds && has .deps/prefix/usr/include/llama.h || return 1
  grep -q "signed-by=.* http://named.invalid/debian/ sid main" "$BOX/now/sources" || wrong "not asked"
}

test_mirror_that_debootstrap_knows_is_asked() {
  make_ubuntu
  stand_in debootstrap <<<'DEF_MIRROR="http://known.invalid/debian"'
  set_up && succeeds || return 1
  grep -q "http://known.invalid/debian sid" "$BOX/now/sources" || wrong "not asked"
}

test_mirror_that_is_no_url_is_refused() {
  mirror=debian
  set_up && fails && says "CAIRN_DEBIAN_MIRROR=debian is no URL" && never_called "apt-get update"
}

test_fedora_is_told_its_own_commands() {
  make_fedora
  rm "$BOX/now/bin/apt-get"
  set_up && fails && says "sudo dnf install -y apt dpkg debootstrap debian-keyring" || return 1
  rm "$BOX/now/bin/ninja" "$BOX/now/bin/c++"
  set_up && fails && says "sudo dnf install -y gcc-c++ ninja-build"
}

test_fedora_with_an_apt_does_not_install_by_it() {
  make_fedora
  rm "$BOX/now/bin/ninja" "$BOX/now/bin/id"
  stand_in id <<<'echo 0'
  set_up && fails && says "sudo dnf install -y ninja-build" && never_called "apt-get install"
}

test_arch_is_told_its_own_commands() {
  printf 'ID=manjaro\nID_LIKE="arch"\n' >"$BOX/now/os-release"
  rm "$BOX/now/bin/apt-get"
  set_up && fails && says "sudo pacman -S --needed apt dpkg debootstrap debian-archive-keyring"
}

test_musl_machine_is_told_of_the_archive() {
  stand_in c++ <<'END'
case "$1" in -dumpmachine) echo x86_64-alpine-linux-musl ;; *) echo 14 ;; esac
END
  set_up && fails && says "musl" && says "make package KIND=tar" && never_called "apt-get update"
}

test_without_a_keyring_the_lock_vouches_for_the_packages() {
  rm "$BOX/now/keyring"
  set_up && succeeds && has .deps/prefix/usr/include/llama.h || return 1
  grep -q "deb \[trusted=yes" "$BOX/now/sources" || wrong "apt was asked for a signature"
}

test_without_a_keyring_no_package_is_taken_that_the_lock_does_not_name() {
  rm "$BOX/now/keyring"
  offer libmore 1.0
  set_up && fails && says "1 of the mirror's packages" && says "libmore is one" || return 1
  says "apt-get install -y debian-archive-keyring" && never_called --download-only && has_no .deps/prefix
}

test_without_a_keyring_no_other_version_is_taken() {
  rm "$BOX/now/keyring" "$BOX/now/offer"
  offer libllama-dev 1.1
  offer libc6 2.0
  set_up && fails && says "libllama-dev is one" && never_called --download-only
}

test_without_a_keyring_no_backend_is_taken_that_the_lock_does_not_name() {
  offer_backends
  set_up && succeeds || return 1
  rm "$BOX/now/keyring"
  backends=hip
  set_up && fails && says "libggml0-backend-hip is one" && has_no "$MADE_BACKENDS/libggml-hip.so"
}

test_without_a_keyring_an_architecture_without_a_lock_is_refused() {
  rm "$BOX/now/keyring"
  echo riscv64 >"$BOX/now/architecture"
  set_up && fails && says "no checksums for riscv64" && never_called "apt-get update"
}

# --- what goes wrong on the way

test_no_network_is_told_from_a_bad_mirror() {
  mirror=http://named.invalid/debian
  echo "Err: Temporary failure resolving 'named.invalid'" >"$BOX/now/refusal"
  set_up && fails && says "http://named.invalid/debian/ cannot be reached" && says "http_proxy" || return 1
  echo "E: The repository 'http://named.invalid sid Release' does not have a Release file." \
    >"$BOX/now/refusal"
  set_up && fails && says "has no suite sid, so it is no mirror of Debian" || return 1
  echo "E: Release file for http://named.invalid is expired" >"$BOX/now/refusal"
  set_up && fails && says "have expired" && says "CAIRN_DEBIAN_KEYRING=none"
}

test_download_that_was_cut_off_goes_on() {
  echo "E: Failed to fetch" >"$BOX/now/no-download"
  set_up && fails && says "Run this again: it goes on from there" && has_no .deps/prefix || return 1
  echo part >"$BOX/now/tree/.deps/archives/partial/libllama-dev_1.0_amd64.deb"
  set_up && fails && has .deps/archives/partial/libllama-dev_1.0_amd64.deb || return 1
  echo "libc6 2.0" >"$BOX/now/tree/.deps/archives/libc6_2.0_amd64.deb"
  rm "$BOX/now/no-download"
  set_up && succeeds && has_no .deps/archives && has .deps/prefix/usr/include/llama.h || return 1
  grep -q "^libc6 2.0 " "$BOX/now/tree/.deps/lock" || wrong "what was there already is not in the lock"
}

test_full_disk_is_said_plainly() {
  echo "E: You don't have enough free space in /made/" >"$BOX/now/no-download"
  set_up && fails && says "the disk of" && says "is full" || return 1
  stand_in df <<<'printf "Filesystem 1M-blocks Used Available\nmade 9 9 12\n"'
  set_up && fails && says "takes 500 MB, and its disk has 12 left" && never_called "apt-get update.*update"
}

test_path_that_the_linker_cannot_take_is_refused_and_spaces_are_fine() {
  mv "$BOX/now/tree" "$BOX/now/a tree"
  ln -s "a tree" "$BOX/now/tree"
  code=0
  output="$(env -i PATH="$BOX/now/bin" HOME="$BOX" CAIRN_DEBIAN_KEYRING="$BOX/now/keyring" \
    CAIRN_OS_RELEASE="$BOX/now/os-release" CAIRN_DEV="$BOX/now/dev" "$BOX/now/a tree/scripts/setup.sh" 2>&1)" || code=$?
  succeeds && has .deps/prefix/usr/include/llama.h || return 1
  mv "$BOX/now/a tree" "$BOX/now/a,tree"
  code=0
  output="$(env -i PATH="$BOX/now/bin" HOME="$BOX" "$BOX/now/a,tree/scripts/setup.sh" --dev 2>&1)" || code=$?
  fails && says "programs cannot be linked in a folder with one of"
}

test_folder_that_runs_no_programs_is_refused() {
  # The file that the set-up tries cannot be made a program.
  rm "$BOX/now/bin/chmod"
  stand_in chmod </dev/null
  set_up && fails && says "runs no programs" && never_called "apt-get"
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

# --- libllama from source

# cargo, whose crate is a folder with a llama.cpp in it.
make_cargo() {
  local crate="$BOX/llama-cpp-sys-4-0.9.0"
  mkdir -p "$crate/llama.cpp/include" "$BOX/.cargo/registry/cache/made"
  : >"$crate/llama.cpp/CMakeLists.txt"
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
