#!/usr/bin/env bash
# Unpacks gptel from Debian's sid suite into a folder: no root, nothing on the machine changes.
# Emacs and curl must be there: Emacs does not start from another folder than it was made for.
# Usage: scripts/clients/gptel.sh FOLDER GPTEL_VERSION
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# shellcheck source=scripts/lib/common.sh
source "$ROOT/scripts/lib/common.sh"
# shellcheck source=scripts/lib/lock.sh
source "$ROOT/scripts/lib/lock.sh"
# shellcheck source=scripts/lib/prefix.sh
source "$ROOT/scripts/lib/prefix.sh"

readonly LISP="elpa-transient elpa-compat elpa-cond-let"

main() {
  local folder="$1" version="$2" complaint deb
  have emacs || fail "Emacs is not here (package emacs-nox)"
  have curl || fail "curl is not here"
  complaint="$(prefix_complaint)"
  [[ -z "$complaint" ]] || fail "$complaint"
  [[ -n "$(debian_keyring)" ]] || fail "Debian's archive keyring is not here"
  mkdir -p "$folder"
  WORK="$(mktemp -d "$folder/.download.XXXXXX")"
  trap 'rm -rf "$WORK"' EXIT
  write_apt_conf "$WORK/apt"
  update_lists
  cd "$WORK"
  # One package a word: the split is wanted.
  # shellcheck disable=SC2086
  own_apt download "elpa-gptel=$version" $LISP
  for deb in ./*.deb; do dpkg -x "$deb" "$folder/root"; done
  echo "$version" >"$folder/version"
}

main "$@"
