# shellcheck shell=bash
# The private prefix: Debian sid's libllama and the libraries we use, unpacked under .deps/prefix
# without root and without touching the machine. apt runs with a configuration, a state and a cache
# of its own; it believes in a machine that has nothing installed, so it brings every library down
# to the C library, and checks the archive's signature as it always does.

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

# Prints why this machine cannot make the prefix; nothing when it can.
prefix_complaint() {
  if ! have apt-get || ! have apt-config || ! have dpkg; then
    echo "this is not a Debian-family machine"
  elif [[ -z "$(debian_keyring)" ]]; then
    echo "Debian's archive keyring (package debian-archive-keyring) is not here"
  elif [[ -z "$(debian_mirrors)" ]]; then
    echo "apt is not set up for a Debian mirror here"
  fi
}

# The addresses of the Debian mirrors that this machine's own apt uses, the best first. Security
# and other side archives have no sid suite; other systems' archives have other release names.
# Without release information apt names them even where its lists were never read.
debian_mirrors() {
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
write_apt_conf() {
  local folder="$1"
  mkdir -p "$folder"/{state/lists/partial,cache/archives/partial,empty}
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
Dir::Etc::main "/dev/null";
Dir::Etc::parts "$folder/empty";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "$folder/empty";
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "-";
APT::Architectures { "$(dpkg --print-architecture)"; };
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Debug::NoLocking "true";
END
}

own_apt() { APT_CONFIG="$WORK/apt/apt.conf" LC_ALL=C apt-get "$@"; }

# One mirror after the other until one has a sid suite that Debian's keyring has signed.
update_lists() {
  local mirror
  while read -r mirror; do
    echo "deb [signed-by=$(debian_keyring)] $mirror $PREFIX_SUITE main" >"$WORK/apt/sources.list"
    if own_apt update; then return 0; fi
  done < <(debian_mirrors)
  return 1
}

# apt's own words for a signature it does not accept, in a log.
speaks_of_signatures() {
  grep -Eqi 'NO_PUBKEY|EXPKEYSIG|is not signed|GPG error|signatures? (were|was|could)' "$1"
}

explain_update() {
  if speaks_of_signatures "$WORK/update.log"; then
    fail "apt refuses the signature on Debian's $PREFIX_SUITE lists; nothing was taken." \
      "A newer debian-archive-keyring package may help."
  fi
  fail "the lists of Debian's $PREFIX_SUITE suite could not be read from this machine's mirror;" \
    "apt's words are above. Run this again once the mirror answers."
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

# print_uris PACKAGE...
print_uris() {
  own_apt install -qq -y -o Acquire::ForceHash=sha256 --print-uris "$@" >"$WORK/uris"
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
  verify_debs "$WORK/lock" "$WORK/apt/cache/archives"
}

# Debian keeps each BLAS in a folder of its own, and a script of the package links one of them to
# where the loader looks; dpkg -x runs no scripts.
link_blas() {
  local library
  while read -r library; do
    ln -sf blas/libblas.so.3 "${library%/blas/*}/libblas.so.3"
  done < <(find "$1" -path '*/blas/libblas.so.3')
}

# Unpacks every package but the C headers, and dates all files now: a build tree that is older
# than an exchanged prefix must see that it is.
unpack_packages() {
  local name version architecture
  mkdir "$WORK/prefix"
  while read -r name version architecture _; do
    [[ "$PREFIX_LEAVE_OUT" != *" $name "* ]] || continue
    dpkg -x "$WORK/apt/cache/archives/${name}_${version//:/%3a}_$architecture.deb" "$WORK/prefix"
  done <"$WORK/lock"
  link_blas "$WORK/prefix"
  find "$WORK/prefix" -exec touch -h {} +
}

# The marker of a whole prefix says from which lock and recipe it came, so that it is fetched
# again when one of them changes and only then.
prefix_marker() {
  cat "$ROOT/scripts/lib/prefix.sh" "$ROOT/deps.lock" 2>/dev/null | sha256 | cut -c 1-64
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
}

# resolve_prefix: $WORK/lock is then what the mirror offers today.
resolve_prefix() {
  [[ ! -f "$WORK/lock" ]] || return 0
  local code
  # A refusal is explained before the run ends.
  set +e
  run_step "Reading the package lists of Debian $PREFIX_SUITE" "$WORK/update.log" prepare_apt
  code=$?
  set -e
  [[ "$code" -eq 0 ]] || explain_update
  run_step "Resolving packages" "$WORK/resolve.log" resolve_packages
}

prepare_apt() {
  write_apt_conf "$WORK/apt"
  update_lists
}

make_prefix() {
  resolve_prefix
  check_lock "$ROOT/deps.lock" "$WORK/lock" "$PREFIX_PACKAGES" "$(dpkg --print-architecture)" \
    "$WORK/differences"
  run_step "Downloading $(wc -l <"$WORK/lock") packages" "$WORK/download.log" download_packages
  run_step "Unpacking them into .deps/prefix" "$WORK/unpack.log" unpack_packages
  run_step "Checking that CMake finds the libraries" "$WORK/check.log" \
    probe_libraries "-DCMAKE_PREFIX_PATH=$WORK/prefix/usr"
  llama_warning "$WORK/check.log"
  install_prefix
}

update_lock() {
  local architecture complaint
  complaint="$(prefix_complaint)"
  [[ -z "$complaint" ]] || fail "deps.lock cannot be renewed: $complaint."
  architecture="$(dpkg --print-architecture)"
  [[ "$architecture" == "$LOCK_ARCHITECTURE" ]] ||
    fail "deps.lock holds $LOCK_ARCHITECTURE packages; it cannot be renewed on $architecture."
  resolve_prefix
  # The lock holds the checksums of all backends too, whichever of them a machine takes.
  # shellcheck disable=SC2086
  run_step "Resolving ggml's backends: $LOCKED_BACKENDS" "$WORK/resolve_backends.log" \
    resolve_backends $LOCKED_BACKENDS
  cp "$WORK/lock" "$ROOT/deps.lock"
  rm "$WORK/lock"
  say "deps.lock names $(wc -l <"$ROOT/deps.lock") packages"
}
