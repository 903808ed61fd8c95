#!/usr/bin/env bash
# Makes build/package-tar/cairn-VERSION-linux-MACHINE.tar.gz: a folder with the program, every library it
# loads with their loader, ggml's backends, the manual and the licences. `./cairn serve` runs there from
# any folder, as any user, on any Linux of that machine, also without glibc. Its file CONTENTS lists what
# is inside, from which package of Debian, and under which licences.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh

readonly PACKAGES=build/package-tar
# Libraries of headers are compiled into the program.
readonly COMPILED_IN="nlohmann-json3-dev libcli11-dev libexpected-dev libspdlog-dev libstb-dev \
libminiaudio-dev"

# make_folder FOLDER: what `make package` packs, with the launcher and without what only a system uses.
make_folder() {
  local folder="$1"
  rm -rf "$folder" "$folder.stage"
  DESTDIR="$ROOT/$folder.stage" cmake --install build-release --component program --prefix /usr
  mv "$folder.stage/usr" "$folder"
  rm -rf "$folder.stage" "$folder/lib/systemd" "$folder/share/lintian"
  cp packaging/launcher "$folder/cairn"
}

# licences_of FOLDER PACKAGE: their short names, as its copyright file has them.
licences_of() {
  local file="$1/share/doc/cairn/licences/$2" names
  names="$(sed -n 's/^License: *\([^ ].*\)/\1/p' "$file" 2>/dev/null | LC_ALL=C sort -u | paste -sd ';' -)"
  names="${names:-see share/doc/cairn/licences/$2}"
  echo "${names//;/; }"
}

version_of() { awk -v name="$1" '$1 == name { print $2 }' .deps/lock; }

# row FOLDER FILE: a line of the list of files, by the package that the file is from.
row() {
  local package
  package="$(awk -v name="$(basename "$2")" '{ n = split($2, part, "/") } part[n] == name { print $1; exit }' \
    .deps/prefix/.files)"
  printf '%s\t%s\t%s\t%s\n' "$(sha256 "$1/$2" | cut -c 1-64)" "$(stat -c %s "$1/$2")" "$2" \
    "${package:+$package $(version_of "$package"), }$(
      if [[ -n "$package" ]]; then licences_of "$1" "$package"; else echo "Cairn, MIT"; fi
    )"
}

list_contents() {
  local folder="$1" file package
  say "Cairn $(basename "$folder"), commit $(git rev-parse HEAD 2>/dev/null || echo unknown)"
  say
  say "Files (SHA-256, bytes, name, what it is from and its licences); libraries are Debian's, unchanged:"
  (cd "$folder" && find cairn bin lib share/man share/*completion* share/fish -type f | LC_ALL=C sort) |
    while read -r file; do row "$folder" "$file"; done
  say
  say "Libraries of headers, compiled into the program:"
  for package in $COMPILED_IN; do
    say "$package $(version_of "$package"), $(licences_of "$folder" "$package")"
  done
  say
  say "The web page is in the program; the licences of what it is made of are at /assets/licences.txt."
  say "All texts of licences: share/doc/cairn/licences."
}

# pack FOLDER ARCHIVE: two archives of one tree are alike.
pack() {
  tar -C "$PACKAGES" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" -c "$(basename "$1")" | gzip -n >"$2"
}

main() {
  local name archive version
  scripts/build.sh --release cairn cairn-packaged cairn_heart
  [[ -f build-release/packaged/cairn ]] ||
    fail "the build uses this system's libllama; the archive is made of the private prefix's libraries." \
      "CAIRN_LLAMA=source makes one."
  version="$(sed -n 's/^project(cairn VERSION \([^ ]*\).*/\1/p' CMakeLists.txt)"
  name="cairn-$version-linux-$(uname -m)"
  archive="$PACKAGES/$name.tar.gz"
  rm -rf "$PACKAGES"
  mkdir -p "$PACKAGES"
  run_step "Gathering the files" build/package-tar.log make_folder "$PACKAGES/$name"
  list_contents "$PACKAGES/$name" >"$PACKAGES/CONTENTS"
  cp "$PACKAGES/CONTENTS" "$PACKAGES/$name/CONTENTS"
  run_step "Packing" build/package-tar.log pack "$PACKAGES/$name" "$archive"
  say "$archive: $(du -h "$archive" | cut -f 1), unpacked $(du -sh "$PACKAGES/$name" | cut -f 1)"
  rm -rf "${PACKAGES:?}/$name"
}

main "$@"
