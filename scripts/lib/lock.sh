# shellcheck shell=bash
# Lock files: one line a package, "name version architecture sha256", sorted by name. deps.lock is
# the tracked one (Debian sid, amd64); .deps/lock says what this machine really unpacked.

readonly LOCK_ARCHITECTURE=amd64

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

# What is between two locks, a line a difference: "wrong name version locked now",
# "moved name locked now", "new name now".
lock_differences() {
  awk 'FNR == NR { version[$1] = $2; sum[$1] = $4; next }
    !($1 in version)     { print "new", $1, $2; next }
    version[$1] != $2    { print "moved", $1, version[$1], $2; next }
    sum[$1] != $4        { print "wrong", $1, $2, sum[$1], $4 }' "$1" "$2"
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

# Names the packages we asked for that have moved on; counts those that came along. $2: ours.
tell_moved_on() {
  local others
  awk -v ours=" $2 " '$1 == "moved" && index(ours, " " $2 " ") {
    print "  moved on since deps.lock: " $2 " " $3 " -> " $4 }' "$1"
  others="$(awk -v ours=" $2 " '$1 != "wrong" && !index(ours, " " $2 " ")' "$1" | wc -l)"
  [[ "$others" -eq 0 ]] ||
    say "  moved on since deps.lock: $((others)) of the packages these need (see .deps/lock)"
}

# check_lock TRACKED RESOLVED "our packages" ARCHITECTURE DIFFERENCES_FILE
check_lock() {
  if [[ "$4" != "$LOCK_ARCHITECTURE" ]]; then
    say "  deps.lock has no checksums for $4: apt's own signatures and checksums are relied on"
    return 0
  fi
  if [[ ! -f "$1" ]]; then
    say "  there is no deps.lock: apt's own signatures and checksums are relied on"
    return 0
  fi
  lock_differences "$1" "$2" >"$5"
  stop_on_wrong_sums "$5"
  tell_moved_on "$5" "$3"
}

# verify_debs LOCK FOLDER: every package of the lock lies in the folder with the bytes it names.
verify_debs() {
  local name version architecture sum
  while read -r name version architecture sum; do
    printf '%s  %s_%s_%s.deb\n' "$sum" "$name" "${version//:/%3a}" "$architecture"
  done <"$1" | (cd "$2" && sha256 -c)
}
