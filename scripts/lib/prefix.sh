# shellcheck shell=bash
# The private prefix: Debian sid's libllama and the libraries we use, unpacked under .deps/prefix
# without root and without touching the machine. apt runs with a configuration, a state and a cache
# of its own; it believes in a machine that has nothing installed, so it brings every library down
# to the C library, and the prefix serves on any Linux. Each package is checked by the archive's
# signature, or where its keyring is not here by deps.lock.

# shellcheck source=scripts/lib/distribution.sh
source "$ROOT/scripts/lib/distribution.sh"

# What we ask for; apt adds what these need.
readonly PREFIX_PACKAGES="libllama-dev llama.cpp-tools llama.cpp-tests libcpp-httplib-dev \
nlohmann-json3-dev libcli11-dev libspdlog-dev libexpected-dev libxxhash-dev libzstd-dev \
libssl-dev libgtest-dev googletest librapidcheck-dev libre2-dev libwebp-dev \
libminiaudio-dev libstb-dev libzmq3-dev libhiredis-dev libcurl4-openssl-dev"
# Of them, those that no build needs: the peer of the benchmarks, and the maker of test models.
readonly PREFIX_OPTIONAL=" llama.cpp-tools llama.cpp-tests "
# Headers of the C library and the kernel: the machine's compiler needs the machine's own.
# The same with what is asked for today (scripts/lib/backends.sh); empty: only those above.
ASKED=""
readonly PREFIX_LEAVE_OUT=" libc6-dev libc-dev-bin linux-libc-dev libcrypt-dev "
readonly PREFIX_SUITE=sid
# What the lists, the packages and the prefix take while it is made.
readonly SPACE_MB=500
readonly ARCHIVES="$ROOT/.deps/archives"
readonly DEBIAN_RELEASES="buster|bullseye|bookworm|trixie|forky|duke|sid|oldoldstable|oldstable|\
stable|testing|unstable"

debian_keyring() {
  local file
  for file in ${CAIRN_DEBIAN_KEYRING:-/usr/share/keyrings/debian-archive-keyring.pgp \
    /usr/share/keyrings/debian-archive-keyring.gpg}; do
    if [[ -f "$file" ]]; then
      echo "$file"
      return 0
    fi
  done
}

# Whose packages: this machine's, or those that a lock is renewed for.
ARCHITECTURE=""
architecture() { echo "${ARCHITECTURE:-$(dpkg --print-architecture)}"; }

# Prints why this machine cannot make the prefix, and what helps; nothing when it can.
prefix_complaint() {
  if ! have apt-get || ! have apt-config || ! have dpkg; then
    echo "apt and dpkg, which fetch and unpack Debian's packages, are not here." \
      "$(how_to_install apt dpkg debootstrap debian-archive-keyring)"
  elif [[ -n "${CAIRN_DEBIAN_MIRROR:-}" && "$CAIRN_DEBIAN_MIRROR" != *://* ]]; then
    echo "CAIRN_DEBIAN_MIRROR=$CAIRN_DEBIAN_MIRROR is no URL such as http://HOST/debian"
  elif [[ -z "$(debian_mirrors)" ]]; then
    echo "no mirror of Debian is known here. Name one with CAIRN_DEBIAN_MIRROR=URL, or install" \
      "debootstrap, which knows one. $(how_to_install debootstrap debian-archive-keyring)"
  elif [[ -z "$(debian_keyring)" ]] && ! lock_has "$(architecture)"; then
    echo "Debian's archive keyring is not here, and deps.lock has no checksums for" \
      "$(architecture). $(how_to_install debian-archive-keyring)"
  fi
}

# The addresses of the Debian mirrors that may be asked, the best first: the one that is named by hand,
# else those of this machine's own apt, else the one that an installed debootstrap asks.
debian_mirrors() {
  local own
  if [[ -n "${CAIRN_DEBIAN_MIRROR:-}" ]]; then
    echo "${CAIRN_DEBIAN_MIRROR%/}/"
    return 0
  fi
  own="$(mirrors_of_apt)"
  if [[ -n "$own" ]]; then
    echo "$own"
  elif have debootstrap; then
    sed -n 's/^DEF_MIRROR=["'"'"']\{0,1\}\([^"'"'"' ]*\).*/\1/p' "$(command -v debootstrap)"
  fi
}

# Security and other side archives have no sid suite; other systems' archives have other release names.
# Without release information apt names them even where its lists were never read.
mirrors_of_apt() {
  # apt fills in the names, not the shell.
  # shellcheck disable=SC2016
  local format='$(CREATED_BY)|$(COMPONENT)|$(RELEASE)|$(REPO_URI)'
  apt-get indextargets --no-release-info --format "$format" 2>/dev/null |
    awk -F '|' -v names="^($DEBIAN_RELEASES)(-updates)?$" \
      '$1 == "Packages" && $2 == "main" && $3 ~ names && $4 !~ /^cdrom:/ && !seen[$4]++ {
         print $4 }'
}

# write_apt_conf FOLDER: an apt configuration that reaches the network as the machine's does
# (proxies, certificates, retries) and shares nothing else with it: no hooks, pins or index targets.
# What it downloads stays for the next run, should this one be cut off.
write_apt_conf() {
  local folder="$1"
  mkdir -p "$folder"/{state/lists/partial,cache,empty,nothing/partial} "$ARCHIVES/partial"
  : >"$folder/state/status"
  (
    umask 077
    apt-config dump |
      sed -n '/^Acquire::\(IndexTargets\|Languages\|Changelogs\)/d; /^Acquire::/p' \
        >"$folder/apt.conf"
  )
  cat >>"$folder/apt.conf" <<END
Dir::State "$folder/state";
Dir::State::status "$folder/state/status";
Dir::Cache "$folder/cache";
Dir::Cache::archives "$ARCHIVES/";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "$folder/empty";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "$folder/empty";
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "-";
APT::Architecture "$(architecture)";
APT::Architectures { "$(architecture)"; };
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Debug::NoLocking "true";
END
}

own_apt() { APT_CONFIG="$WORK/apt/apt.conf" LC_ALL=C apt-get "$@"; }

# How apt is to judge the lists. Without the keyring it is told to take them as they are, also those of
# an older snapshot: then no package is taken that deps.lock does not vouch for (stop_on_unsigned).
source_options() {
  local keyring
  keyring="$(debian_keyring)"
  if [[ -n "$keyring" ]]; then
    echo "signed-by=$keyring"
  else
    echo "trusted=yes check-valid-until=no"
  fi
}

# One mirror after the other until one has a sid suite that Debian's keyring has signed.
update_lists() {
  local mirror
  while read -r mirror; do
    echo "deb [$(source_options)] $mirror $PREFIX_SUITE main" >"$WORK/apt/sources.list"
    if own_apt update; then return 0; fi
  done < <(debian_mirrors)
  return 1
}

# apt's own words, in a log, for a signature that it does not accept.
speaks_of_signatures() {
  grep -Eqi 'NO_PUBKEY|EXPKEYSIG|is not signed|GPG error|signatures? (were|was|could)' "$1"
}

# For a mirror that cannot be reached at all.
speaks_of_no_network() {
  grep -Eqi 'could not (resolve|connect)|temporary failure resolving|network is unreachable' "$1"
}

# For a disk that is full.
speaks_of_no_space() { grep -Eqi 'no space left|enough free space' "$1"; }

explain_update() {
  local mirror log="$WORK/update.log"
  mirror="$(debian_mirrors | tr '\n' ' ' | sed 's/ *$//')"
  stop_without_space "$log"
  if speaks_of_no_network "$log"; then
    fail "$mirror cannot be reached. Is there a network (a proxy: http_proxy=URL)?" \
      "Another mirror is named with CAIRN_DEBIAN_MIRROR=URL. Then run this again."
  elif grep -Eq 'does not have a Release file|404 ' "$log"; then
    fail "$mirror has no suite $PREFIX_SUITE, so it is no mirror of Debian." \
      "Name one with CAIRN_DEBIAN_MIRROR=URL, then run this again."
  elif grep -q 'is expired' "$log"; then
    fail "the lists of $mirror have expired: it is an old snapshot, or this machine's clock is wrong." \
      "CAIRN_DEBIAN_KEYRING=none takes from it what deps.lock names, and nothing else."
  elif speaks_of_signatures "$log"; then
    fail "apt refuses the signature on the lists of Debian $PREFIX_SUITE; nothing was taken." \
      "A newer keyring may help. $(how_to_install debian-archive-keyring)"
  fi
  fail "the lists of Debian $PREFIX_SUITE could not be read from $mirror;" \
    "apt's words are above. Run this again once the mirror answers, or name another with" \
    "CAIRN_DEBIAN_MIRROR=URL."
}

# stop_without_space LOG
stop_without_space() {
  if speaks_of_no_space "$1"; then
    fail "the disk of $ROOT/.deps is full: it takes $SPACE_MB MB. Make room, then run this again."
  fi
}

# The names of the archive's packages that begin with a text, a line each.
archive_names() {
  have apt-cache || return 0
  APT_CONFIG="$WORK/apt/apt.conf" LC_ALL=C apt-cache pkgnames "$1"
}

# named_today NAME...: the names under which the archive has these packages now, a line each: the same,
# or with a number (libllama-dev: libllama1-dev, the highest); an optional one may be gone. The others
# are left for apt to complain of.
named_today() {
  local name names today
  for name in "$@"; do
    names="$(archive_names "${name%-dev}")"
    today="$name"
    if [[ -n "$names" ]] && ! grep -Fxq -- "$name" <<<"$names"; then
      today="$(sed -n "/^${name%-dev}-\{0,1\}[0-9][0-9.]*-dev\$/p" <<<"$names" | sort -V | tail -n 1)"
    elif [[ -z "$names" && "$PREFIX_OPTIONAL" == *" $name "* ]] && have apt-cache; then
      today=""
    fi
    if [[ -n "$today" ]]; then
      echo "$today"
    elif [[ "$PREFIX_OPTIONAL" != *" $name "* ]]; then
      echo "$name"
    fi
  done
}

# print_uris PACKAGE...: also of what an earlier run has downloaded, which apt would leave out.
print_uris() {
  own_apt install -qq -y -o Acquire::ForceHash=sha256 -o "Dir::Cache::archives=$WORK/apt/nothing/" \
    --print-uris "$@" >"$WORK/uris"
}

# Resolves what is asked for. $WORK/asked is then how the archive calls it.
resolve_packages() {
  # One package a word: the split is wanted.
  # shellcheck disable=SC2086
  printf '%s\n' ${ASKED:-$PREFIX_PACKAGES} >"$WORK/asked"
  # shellcheck disable=SC2046
  if ! print_uris $(cat "$WORK/asked"); then
    # shellcheck disable=SC2046
    named_today $(cat "$WORK/asked") >"$WORK/asked.today"
    [[ "$(<"$WORK/asked")" != "$(<"$WORK/asked.today")" ]] || return 1
    mv "$WORK/asked.today" "$WORK/asked"
    # shellcheck disable=SC2046
    print_uris $(cat "$WORK/asked")
  fi
  lock_from_uris <"$WORK/uris" >"$WORK/lock"
  [[ -s "$WORK/lock" ]]
}

download_packages() {
  # shellcheck disable=SC2046
  own_apt install -qq -y --download-only $(cat "$WORK/asked")
  verify_debs "$WORK/lock" "$ARCHIVES"
}

# What a download left behind is gone on with, but not with a whole file of other bytes.
explain_download() {
  stop_without_space "$WORK/download.log"
  if grep -q ': FAILED' "$WORK/download.log"; then
    rm -rf "$ARCHIVES"
    fail "a package has other bytes than the mirror's lists say; nothing was unpacked, and what was" \
      "downloaded is removed. Run this again; another mirror is named with CAIRN_DEBIAN_MIRROR=URL."
  fi
  fail "the download was cut off; apt's words are above. Run this again: it goes on from there."
}

# Debian keeps each BLAS in a folder of its own, and a script of the package links one of them to
# where the loader looks; dpkg -x runs no scripts.
link_blas() {
  local library
  while read -r library; do
    ln -sf blas/libblas.so.3 "${library%/blas/*}/libblas.so.3"
  done < <(find "$1" -path '*/blas/libblas.so.3')
}

# unpack LOCK ARCHIVES FOLDER: every package but the C headers. The folder's file .files has a line for
# each shared library: its package and its name.
unpack() {
  local name version architecture
  while read -r name version architecture _; do
    [[ "$PREFIX_LEAVE_OUT" != *" $name "* ]] || continue
    dpkg -X "$2/${name}_${version//:/%3a}_$architecture.deb" "$3" |
      sed -n "s|^\./\(.*\.so[.0-9]*\)\$|$name \1|p" >>"$3/.files"
  done <"$1"
}

# Dates all files now: a build tree that is older than an exchanged prefix must see that it is.
unpack_packages() {
  mkdir "$WORK/prefix"
  unpack "$WORK/lock" "$ARCHIVES" "$WORK/prefix"
  link_blas "$WORK/prefix"
  find "$WORK/prefix" -exec touch -h {} +
}

# The marker of a whole prefix says from which lock and recipe it came, so that it is fetched
# again when one of them changes and only then.
prefix_marker() {
  {
    cat "$ROOT"/scripts/lib/{prefix,llama_source}.sh "$ROOT/deps.lock" 2>/dev/null
    llama_marker
  } | sha256 | cut -c 1-64
}

prefix_is_current() {
  [[ -f "$PREFIX/usr/include/llama.h" && -f "$PREFIX/.marker" ]] &&
    [[ "$(cat "$PREFIX/.marker")" == "$(prefix_marker)" ]]
}

# The new prefix takes the old one's place by renames, last of all.
install_prefix() {
  prefix_marker >"$WORK/prefix/.marker"
  if [[ -e "$PREFIX" || -L "$PREFIX" ]]; then mv "$PREFIX" "$WORK/prefix.old"; fi
  mv "$WORK/prefix" "$PREFIX"
  cp "$WORK/lock" "$ROOT/.deps/lock"
  rm -rf "$ARCHIVES"
}

# resolve_prefix: $WORK/lock is then what the mirror offers today.
resolve_prefix() {
  [[ ! -f "$WORK/lock" ]] || return 0
  explained "$WORK/update.log" explain_update \
    "Reading the package lists of Debian $PREFIX_SUITE" prepare_apt
  run_step "Resolving packages" "$WORK/resolve.log" resolve_packages
}

prepare_apt() {
  write_apt_conf "$WORK/apt"
  update_lists
}

# Before anything is downloaded: is there room?
check_space() {
  local free
  have df || return 0
  free="$(df -Pm "$ROOT/.deps" 2>/dev/null | awk 'NR == 2 { print $4 }')"
  [[ ! "$free" =~ ^[0-9]+$ ]] || ((free >= SPACE_MB)) ||
    fail "$ROOT/.deps takes $SPACE_MB MB, and its disk has $free left." \
      "Make room, then run this again."
}

# explained LOG EXPLAIN TITLE COMMAND...: a step whose failure ends the run with what EXPLAIN says.
explained() {
  local log="$1" explain="$2" title="$3" code
  shift 3
  # A refusal is explained before the run ends.
  set +e
  run_step "$title" "$log" "$@"
  code=$?
  set -e
  [[ "$code" -eq 0 ]] || "$explain"
}

explain_unpack() {
  stop_without_space "$WORK/unpack.log"
  fail "a package could not be unpacked; dpkg's words are above. Run this again."
}

make_prefix() {
  check_space
  resolve_prefix
  check_lock "$(architecture)" "$WORK/lock" "$PREFIX_PACKAGES"
  explained "$WORK/download.log" explain_download \
    "Downloading $(wc -l <"$WORK/lock") packages" download_packages
  explained "$WORK/unpack.log" explain_unpack "Unpacking them into .deps/prefix" unpack_packages
  exchange_llama
  run_step "Checking that CMake finds the libraries" "$WORK/check.log" \
    probe_libraries "-DCMAKE_PREFIX_PATH=$WORK/prefix/usr"
  llama_warning "$WORK/check.log"
  install_prefix
}

# The lock holds the checksums of all backends too, whichever of them a machine takes.
resolve_for_lock() {
  ARCHITECTURE="$1"
  rm -rf "$WORK/apt" "$WORK/lock"
  resolve_prefix
  # shellcheck disable=SC2086
  run_step "Resolving ggml's backends for $1: $LOCKED_BACKENDS" "$WORK/resolve_backends.log" \
    resolve_backends $LOCKED_BACKENDS
  cat "$WORK/lock" >>"$WORK/all"
}

update_lock() {
  local complaint name
  complaint="$(prefix_complaint)"
  [[ -z "$complaint" ]] || fail "deps.lock cannot be renewed: $complaint"
  [[ -n "$(debian_keyring)" ]] ||
    fail "deps.lock is renewed by what the archive has signed, and its keyring is not here." \
      "$(how_to_install debian-archive-keyring)"
  for name in $LOCK_ARCHITECTURES; do resolve_for_lock "$name"; done
  LC_ALL=C sort -u "$WORK/all" >"$ROOT/deps.lock"
  ARCHITECTURE=""
  rm -rf "$WORK/apt" "$WORK/lock" "$WORK/all"
  say "deps.lock names $(wc -l <"$ROOT/deps.lock") packages of $LOCK_ARCHITECTURES"
}
