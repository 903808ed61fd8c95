# shellcheck shell=bash
# Which family of Linux distributions this machine is of, and by which command its people install things.

# debian, fedora, arch or other. An apt alone is no sign of Debian: Fedora and Arch have one as a package.
distribution() {
  local names
  names="$(sed -n 's/^ID\(_LIKE\)\{0,1\}=//p' "${CAIRN_OS_RELEASE:-/etc/os-release}" 2>/dev/null |
    tr '"\n' '  ')"
  case " $names " in
    *" debian "* | *" ubuntu "*) echo debian ;;
    *" fedora "* | *" rhel "*) echo fedora ;;
    *" arch "*) echo arch ;;
    *) if have apt-get; then echo debian; else echo other; fi ;;
  esac
}

# Packages by their names in Debian, Fedora and Arch.
package_names() {
  cat <<'END'
g++ gcc-c++ gcc
cmake cmake cmake
ninja-build ninja-build ninja
make make make
apt apt apt
dpkg dpkg dpkg
debootstrap debootstrap debootstrap
debian-archive-keyring debian-keyring debian-archive-keyring
cargo cargo rust
python3-pip python3-pip python-pip
END
}

# install_command PACKAGE...: the line by which this machine installs packages that have these names in
# Debian; nothing where the line or a name is not known.
install_command() {
  local family names
  family="$(distribution)"
  if [[ "$family" == debian ]]; then
    echo "sudo apt-get update && sudo apt-get install -y $*"
    return 0
  fi
  names="$(awk -v family="$family" -v wanted="$*" '
    { name[$1] = family == "fedora" ? $2 : $3 }
    END {
      count = split(wanted, package, " ")
      for (i = 1; i <= count; i++) if (!(package[i] in name)) exit
      for (i = 1; i <= count; i++) printf " %s", name[package[i]]
    }' < <(package_names))"
  case "${names:+$family}" in
    fedora) echo "sudo dnf install -y$names" ;;
    arch) echo "sudo pacman -S --needed$names" ;;
  esac
}

# how_to_install PACKAGE...: the end of a message that says so.
how_to_install() {
  local line
  line="$(install_command "$@")"
  if [[ -n "$line" ]]; then
    echo "Run: $line"
  else
    echo "Install these with this system's package manager (by their Debian names): $*"
  fi
}
