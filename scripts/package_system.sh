#!/usr/bin/env bash
# Makes the package that depends on the system's libllama, in a Debian that has it: a system of that
# suite in build/systems, this tree copied there, set up, built and packed by its own scripts, and
# looked at by its lintian. The package is left in build/package-SUITE; a second run builds what
# changed. Usage: scripts/package_system.sh [SUITE]. Needs root and mmdebstrap.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/prefix.sh
source scripts/lib/prefix.sh
# shellcheck source=scripts/lib/system.sh
source scripts/lib/system.sh
# shellcheck source=scripts/lib/sources.sh
source scripts/lib/sources.sh

readonly BUILD_TOOLS="g++ cmake ninja-build make lintian dpkg-dev file nodejs npm ca-certificates"
# The set-up's, but for programs of llama.cpp's that only benchmarks and tests run.
LIBRARIES="${PREFIX_PACKAGES/llama.cpp-tools llama.cpp-tests /}"

make_build_system() {
  local suite="$1" folder="$2" certificates=etc/ssl/certs/ca-certificates.crt
  mkdir -p "$(dirname "$folder")"
  rm -rf "$folder.new"
  make_system "$suite" "$folder.new" "$BUILD_TOOLS $LIBRARIES"
  # npm there reaches its registry as npm here does.
  if [[ -f "/$certificates" ]]; then cp "/$certificates" "$folder.new/$certificates"; fi
  mv "$folder.new" "$folder"
}

# A file that has not changed keeps the time it had there, and what was made of it stays beside, so
# that only what changed is built again. The time it has here may be before the last build there.
copy_sources() {
  local folder="$1" file
  rm -rf "$folder/src.new"
  mkdir -p "$folder/src.new" "$folder/build" "$folder/deps"
  git ls-files --cached --others --exclude-standard | while_present |
    tar -c -T - | tar -x -m -C "$folder/src.new"
  (cd "$folder/src.new" && find . -type f) | while read -r file; do
    if cmp -s "$folder/src.new/$file" "$folder/src/$file"; then
      touch -r "$folder/src/$file" "$folder/src.new/$file"
    fi
  done
  rm -rf "$folder/src"
  mv "$folder/src.new" "$folder/src"
  ln -s ../build "$folder/src/build"
  ln -s ../deps "$folder/src/.deps"
}

# There is no git in there to ask for the last commit's time.
build_package() {
  in_system "$1" env SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" \
    sh -ec 'cd /src && scripts/setup.sh && scripts/package.sh'
}

main() {
  local suite="${1:-$LLAMA_SUITE}" complaint folder packages
  complaint="$(system_complaint)"
  [[ -z "$complaint" ]] || fail "the package cannot be made here: $complaint."
  folder="build/systems/$suite"
  packages="$(package_folder system "$suite")"
  mkdir -p build "$packages"
  [[ -d "$folder" ]] ||
    run_step "Making a $suite to build in" "$packages/system.log" make_build_system "$suite" "$folder"
  copy_sources "$folder"
  rm -f "$packages"/*.deb
  build_package "$folder"
  cp "$folder"/build/package/*.deb "$packages"
}

main "$@"
