#!/usr/bin/env bash
# Builds the program as it is packaged and makes build/package/cairn_VERSION_ARCH.deb. Looks at it with
# lintian where that is installed; an error of lintian's fails.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

check_package() {
  if ! have lintian; then
    say "lintian is not here (Debian: apt-get install lintian): the package was not looked at."
    return 0
  fi
  # Root is what a build machine often is.
  lintian --allow-root --fail-on error "$1"
}

main() {
  local package
  have dpkg-deb || fail "packages are made on Debian-family machines; here is no dpkg-deb"
  scripts/build.sh --release cairn cairn-packaged cairn_heart
  rm -rf build/package
  mkdir -p build
  run_step "Packing" build/package.log cmake -E chdir build-release cpack -G DEB -B "$ROOT/build/package"
  package="$(ls build/package/*.deb)"
  say "$package: $(du -h "$package" | cut -f 1), unpacked" \
    "$(dpkg-deb -f "$package" Installed-Size) KB; depends on: $(dpkg-deb -f "$package" Depends)"
  check_package "$package"
}

main "$@"
