#!/usr/bin/env bash
# Boots a fresh system with systemd, installs the package that `make package` made, and runs
# packaging/cairn.service there as scripts/try_service.sh says. Needs root, mmdebstrap,
# systemd-nspawn and build/cairn-lab. KIND and SUITE as for scripts/test_package.sh.
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
readonly BOOT_SECONDS=300
WORK=""
GROUP=""

lacks() {
  local complaint
  complaint="$(system_complaint)"
  if [[ -n "$complaint" ]]; then
    echo "$complaint"
  elif ! have systemd-nspawn; then
    echo "systemd-nspawn is not here (apt-get install systemd-container)"
  fi
}

clean_up() {
  if [[ -n "$GROUP" && -d "$GROUP" ]]; then
    find "$GROUP" -depth -type d -exec rmdir {} \; 2>/dev/null || true
  fi
  if [[ -n "$WORK" ]]; then rm -rf "$WORK"; fi
}

# What is tried is a unit too, and the system goes off when it is over.
prepare_system() {
  local units="$1/etc/systemd/system"
  make_system "$SUITE" "$1" "systemd systemd-sysv dbus curl"
  install_in_system "$1" "$2"
  build/cairn-lab model make qwen35 "$1/model.gguf" --width 64 --layers 4
  install -m 0755 scripts/try_service.sh "$1/try_service.sh"
  cat >"$units/try.service" <<END
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/try_service.sh
ExecStopPost=/bin/sh -c 'journalctl -u cairn --no-pager >/journal.log; systemctl poweroff --no-block'
StandardOutput=file:/tried.log
StandardError=inherit
END
  mkdir -p "$units/multi-user.target.wants"
  ln -s ../try.service "$units/multi-user.target.wants/try.service"
}

# nspawn moves every process of its control group to another below it, so on a machine that systemd
# does not run it gets one of its own, in a tree of its own.
boot_without_systemd() {
  # The words are the inner shell's.
  # shellcheck disable=SC2016
  unshare --mount --propagation private bash -ec '
    tree="$(findmnt -n -o TARGET -t cgroup2 | head -n 1)"
    echo $$ >"$tree/$2/cgroup.procs"
    if [[ "$tree" != /sys/fs/cgroup ]]; then
      umount -l /sys/fs/cgroup
      mount -t cgroup2 none /sys/fs/cgroup
    fi
    SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec timeout "$3" systemd-nspawn --quiet --register=no \
      --keep-unit --private-network --console=pipe --link-journal=no --machine=cairn-try \
      --directory="$1" --boot
    ' bash "$1" "$(basename "$GROUP")" "$BOOT_SECONDS"
}

boot() {
  if [[ -d /run/systemd/system ]]; then
    timeout "$BOOT_SECONDS" systemd-nspawn --quiet --private-network --console=pipe \
      --link-journal=no --machine=cairn-try --directory="$1" --boot
    return
  fi
  mkdir "$GROUP"
  boot_without_systemd "$1"
}

main() {
  local missing package
  missing="$(lacks)"
  [[ -z "$missing" ]] || fail "the service cannot be tried here: $missing."
  package="$(ls "$(package_folder "$KIND" "$SUITE")"/*.deb)"
  WORK="$(mktemp -d)"
  GROUP="$(findmnt -n -o TARGET -t cgroup2 | head -n 1)/cairn-try-$$"
  trap clean_up EXIT
  run_step "Making a fresh $SUITE with $package" build/service-system.log \
    prepare_system "$WORK/system" "$package"
  run_step "Booting it, and trying the service there" build/service-boot.log boot "$WORK/system"
  cat "$WORK/system/tried.log"
  if [[ "$(tail -n 1 "$WORK/system/tried.log")" != passed ]]; then
    tail -n 20 "$WORK/system/journal.log"
    fail "the service does not do what it should."
  fi
  say "The service starts, answers, takes new keys and goes."
}

main "$@"
