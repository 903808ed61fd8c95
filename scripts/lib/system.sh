# shellcheck shell=bash
# Whole systems in a folder, for what is built or tried in another Debian than this machine's. Needs
# common.sh and prefix.sh. The mirror is the one that this machine's apt is set up for; mmdebstrap
# finds the keys of the suite among those that Debian's keyring here has, and apt checks by them.

# Where Debian has libllama.
readonly LLAMA_SUITE=sid

machine_suite() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release; }

# Prints what keeps this machine from making systems; nothing when nothing does.
system_complaint() {
  if [[ "$(id -u)" -ne 0 ]]; then
    echo "it makes a system to work in, which takes root"
  elif ! have mmdebstrap; then
    echo "mmdebstrap is not here (apt-get install mmdebstrap)"
  elif [[ -z "$(debian_mirrors)" ]]; then
    echo "no mirror of Debian is known here (CAIRN_DEBIAN_MIRROR=URL)"
  fi
}

# make_system SUITE FOLDER [PACKAGES]: of the words of PACKAGES, none but what they need come along.
# Reaches the network as this machine's apt does: proxies, certificates, retries.
make_system() {
  local suite="$1" folder="$2" settings packages="${3:-}"
  settings="$(mktemp)"
  apt-config dump |
    sed -n '/^Acquire::\(IndexTargets\|Languages\|Changelogs\)/d; /^Acquire::/p' >"$settings"
  mmdebstrap --variant=apt --aptopt="$settings" ${packages:+"--include=${packages// /,}"} \
    "$suite" "$folder" \
    "$(debian_mirrors | head -n 1)"
  rm -f "$settings"
}

# in_system FOLDER COMMAND...: with its own /proc and this machine's /dev, which go with the command.
in_system() {
  local folder="$1"
  shift
  # The words are the inner shell's.
  # shellcheck disable=SC2016
  unshare --mount --propagation private sh -ec '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    folder="$1"
    shift
    exec chroot "$folder" "$@"' sh "$folder" "$@"
}

# install_in_system FOLDER PACKAGE: as any user would; what it depends on comes from apt.
install_in_system() {
  cp "$2" "$1/cairn.deb"
  in_system "$1" apt-get update
  in_system "$1" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends /cairn.deb
  rm "$1/cairn.deb"
}

# package_folder KIND SUITE: where `make package` leaves a package of that kind.
package_folder() {
  case "$1" in
    bundled) echo build/package ;;
    system) echo "build/package-$2" ;;
    *) fail "KIND is bundled (libraries inside) or system (the system's libllama), not $1" ;;
  esac
}

# What a test tries by what the environment says, see scripts/test_package.sh.
choose_kind_and_suite() {
  KIND="${KIND:-bundled}"
  if [[ "$KIND" == system ]]; then
    SUITE="${SUITE:-$LLAMA_SUITE}"
  else
    SUITE="${SUITE:-$(machine_suite)}"
  fi
}
