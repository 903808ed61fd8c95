# shellcheck shell=bash
# Lock files: one line a package, "name version architecture sha256", sorted by name. deps.lock is
# the tracked one (Debian sid, of all architectures that it has); .deps/lock says what this machine
# really unpacked.

# shellcheck disable=SC2034 # prefix.sh renews them
readonly LOCK_ARCHITECTURES="amd64 arm64"

# lock_has ARCHITECTURE: whether there is a deps.lock that names packages of it.
lock_has() { grep -qs " $1 " "$ROOT/deps.lock"; }

# From `apt-get --print-uris` on standard input ('URI' file size SHA256:sum) to lock lines.
lock_from_uris() {
  awk -v q="'" 'substr($0, 1, 1) == q {
    if ($4 !~ /^SHA256:/) { print "no SHA-256 for " $2 > "/dev/stderr"; exit 1 }
    n = split($2, part, "_")
    if (n != 3) { print "unexpected file name " $2 > "/dev/stderr"; exit 1 }
    sub(/\.deb$/, "", part[3])
    gsub(/%3a/, ":", part[2])
    print part[1], part[2], part[3], substr($4, 8)
  }' | LC_ALL=C sort
}

# lock_differences ARCHITECTURE TRACKED RESOLVED: what is between two locks, a line a difference:
# "wrong name version locked now", "moved name locked now", "new name now".
lock_differences() {
  awk -v architecture="$1" '
    FNR == NR { if ($3 == architecture || $3 == "all") { version[$1] = $2; sum[$1] = $4 }; next }
    !($1 in version)     { print "new", $1, $2; next }
    version[$1] != $2    { print "moved", $1, version[$1], $2; next }
    sum[$1] != $4        { print "wrong", $1, $2, sum[$1], $4 }' "$2" "$3"
}

# The same version with other bytes is never taken.
stop_on_wrong_sums() {
  local wrong
  wrong="$(sed -n 's/^wrong \(.*\)$/\1/p' "$1")"
  [[ -n "$wrong" ]] || return 0
  printf '%s\n' "$wrong" |
    awk '{ print "  " $1, $2 ": deps.lock says " $3 ", the mirror says " $4 }' >&2
  fail "the mirror's packages are not the ones deps.lock names; nothing was unpacked." \
    "If the change is known to be good, run scripts/setup.sh --update-lock."
}

# Without the archive's keyring nothing but the lock vouches for a package.
stop_on_unsigned() {
  [[ -s "$1" && -z "$(debian_keyring)" ]] || return 0
  fail "$(wc -l <"$1") of the mirror's packages are not the ones deps.lock names ($(sed -n \
    '1s/^[a-z]* \([^ ]*\) .*/\1/p' "$1") is one), and their signature cannot be checked without" \
    "Debian's archive keyring; nothing was unpacked. $(how_to_install debian-archive-keyring)"
}

# Names the packages we asked for that have moved on; counts those that came along. $2: ours.
tell_moved_on() {
  local others
  awk -v ours=" $2 " '$1 == "moved" && index(ours, " " $2 " ") {
    print "  moved on since deps.lock: " $2 " " $3 " -> " $4 }' "$1"
  others="$(awk -v ours=" $2 " '$1 != "wrong" && !index(ours, " " $2 " ")' "$1" | wc -l)"
  [[ "$others" -eq 0 ]] ||
    say "  moved on since deps.lock: $((others)) of the packages these need (see .deps/lock)"
}

# compare_with_lock ARCHITECTURE RESOLVED: the differences are in $WORK/differences afterwards. Stops
# on packages that neither the lock nor a signature vouches for.
compare_with_lock() {
  : >"$WORK/differences"
  lock_has "$1" || return 0
  lock_differences "$1" "$ROOT/deps.lock" "$2" >"$WORK/differences"
  stop_on_wrong_sums "$WORK/differences"
  stop_on_unsigned "$WORK/differences"
}

# check_lock ARCHITECTURE RESOLVED "our packages"
check_lock() {
  if [[ ! -f "$ROOT/deps.lock" ]]; then
    say "  there is no deps.lock: apt's own signatures and checksums are relied on"
  elif ! lock_has "$1"; then
    say "  deps.lock has no checksums for $1: apt's own signatures and checksums are relied on"
  fi
  compare_with_lock "$1" "$2"
  tell_moved_on "$WORK/differences" "$3"
}

# verify_debs LOCK FOLDER: every package of the lock lies in the folder with the bytes it names.
verify_debs() {
  local name version architecture sum
  while read -r name version architecture sum; do
    printf '%s  %s_%s_%s.deb\n' "$sum" "$name" "${version//:/%3a}" "$architecture"
  done <"$1" | (cd "$2" && sha256 -c)
}
