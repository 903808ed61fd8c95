# shellcheck shell=bash
# Their variables are read by machine.sh.
# shellcheck disable=SC2034
# Tests of the set-up on machines that are not Debian's, and of what goes wrong on the way.

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
