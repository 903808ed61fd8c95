# shellcheck shell=bash
# The made machine that scripts/test_setup.sh runs the set-up on, and what its tests may say.

readonly REAL_TOOLS="awk bash cat chmod cp cut dirname env find flock grep head id ln ls mkdir mktemp \
mv readlink rm sed sha256sum sort tail tar gzip tee touch tr uname wc xargs"

# stand_in NAME: a program of that name whose text is standard input. It logs its calls.
stand_in() {
  {
    printf '#!%s\necho "%s $*" >>"%s/calls"\n' "$(command -v bash)" "$1" "$BOX/now"
    cat
  } >"$BOX/now/bin/$1"
  chmod +x "$BOX/now/bin/$1"
}

make_build_tools() {
  local name
  for name in ninja make; do stand_in "$name" </dev/null; done
  stand_in c++ <<'END'
case "$1" in
  -dumpversion) echo 14 ;;
  -dumpmachine) echo x86_64-linux-gnu ;;
  -std=*) [[ ! -f "$(dirname "$0")/../other-interface" ]] ;;
  *) echo "c++ (Made) 14.0.0" ;;
esac
END
  # Finds the libraries in a prefix that has llama.h, and on a system that has the file `system`.
  stand_in cmake <<END
case "\$*" in
  --version) echo "cmake version 3.25.1" ;;
  *-DLLAMA_BUILD_MTMD=ON*) [[ ! -f "$BOX/now/broken-source" ]] ;;
  --build*) ;;
  --install*)
    mkdir -p "\$DESTDIR$BOX/now/tree/.deps/prefix/usr/include"
    : >"\$DESTDIR$BOX/now/tree/.deps/prefix/usr/libllama.so"
    echo built >"\$DESTDIR$BOX/now/tree/.deps/prefix/usr/include/llama.h" ;;
  *-DCMAKE_PREFIX_PATH=*) all="\$*"; [[ -f "\${all##*-DCMAKE_PREFIX_PATH=}/include/llama.h" ]] ;;
  *)
    cat "$BOX/now/said-of-llama" 2>/dev/null
    [[ -f "$BOX/now/system" ]] || exit 1
    for work in "$BOX/now/tree/.deps/"work.*; do
      mkdir -p "\$work/probe"
      echo "$BOX/now/system" >"\$work/probe/llama_config"
    done
    ;;
esac
END
}

make_debian_tools() {
  : >"$BOX/now/keyring"
  echo bookworm >"$BOX/now/release"
  echo amd64 >"$BOX/now/architecture"
  stand_in apt-config </dev/null
  stand_in dpkg <<END
case "\$*" in
  --print-architecture) cat "$BOX/now/architecture" ;;
  -x\ prometheus_*) mkdir -p "\$3/usr/bin" && cp "\$2" "\$3/usr/bin/promtool" && chmod +x "\$3/usr/bin/promtool" ;;
  -X\ *libggml[0-9]-backend-*)
    name="\${2##*-backend-}"
    number="\${2##*libggml}"
    folder="\$3/lib/ggml/backends\${number%%-*}"
    mkdir -p "\$folder" && cp "\$2" "\$folder/libggml-\${name%%_*}.so" ;;
  -X\ *libblas3_*) mkdir -p "\$3/lib/blas" && cp "\$2" "\$3/lib/blas/libblas.so.3" ;;
  -X*) mkdir -p "\$3/usr/include" && cat "\$2" >>"\$3/usr/include/llama.h" ;;
esac
END
  # A package's bytes are "name version"; the offer says which sum the mirror claims for it.
  stand_in apt-get <<END
architecture="\$(sed -n 's/^APT::Architecture "\(.*\)";/\1/p' "\${APT_CONFIG:-/dev/null}")"
architecture="\${architecture:-\$(cat "$BOX/now/architecture")}"
case "\$*" in
  indextargets\ --no-release-info*)
    echo "Packages|main|\$(cat "$BOX/now/release")|http://mirror.invalid/debian/" ;;
  update)
    [[ -z "\${APT_CONFIG:-}" ]] || cp "\$(dirname "\$APT_CONFIG")/sources.list" "$BOX/now/sources"
    [[ ! -f "$BOX/now/refusal" ]] || { cat "$BOX/now/refusal"; exit 100; } ;;
  *install\ *clang-19\ lld-19) [[ ! -f "$BOX/now/no-clang" ]] ;;
  download\ prometheus)
    [[ -f "$BOX/now/prometheus" ]] || { echo "E: Can't find a source"; exit 100; }
    echo made >prometheus_2.42_amd64.deb ;;
  download\ *=*)
    for asked in "\${@:2}"; do
      echo "\${asked/=/ }" >"\${asked%%=*}_\${asked##*=}_\$architecture.deb"
    done ;;
  *--print-uris*)
    while read -r name version sum; do
      case "\$name" in libggml[0-9]-backend-*) [[ " \$* " == *" \$name "* ]] || continue ;; esac
      for asked in \$*; do
        if grep -qsxF -- "\$asked" "$BOX/now/gone"; then echo "E: Unable to locate \$asked" >&2; exit 100; fi
        case "\$asked" in libggml[0-9]-backend-*)
          grep -q "^\$asked " "$BOX/now/offer" || { echo "E: Unable to locate \$asked"; exit 100; } ;;
        esac
      done
      file="\${name}_\${version}_\$architecture.deb"
      # As apt: what is in its archives already has no address.
      [[ "\$*" == *Dir::Cache::archives=* || ! -f "$BOX/now/tree/.deps/archives/\$file" ]] || continue
      echo "'http://mirror.invalid/\$file' \$file 1 SHA256:\$sum"
    done <"$BOX/now/offer" ;;
  *--download-only*)
    [[ ! -f "$BOX/now/no-download" ]] || { cat "$BOX/now/no-download"; exit 100; }
    while read -r name version sum; do
      echo "\$name \$version\$(cat "$BOX/now/damage" 2>/dev/null)" \
        >"$BOX/now/tree/.deps/archives/\${name}_\${version}_\$architecture.deb"
    done <"$BOX/now/offer" ;;
esac
END
}

# offer NAME VERSION: the mirror has it. The same, as a line of a lock file, is locked NAME VERSION.
offer() { echo "$1 $2 $(sum_of "$1" "$2")" >>"$BOX/now/offer"; }
locked() { echo "$1 $2 amd64 $(sum_of "$1" "$2")" >>"$BOX/now/tree/deps.lock"; }
sum_of() { echo "$1 $2" | sha256sum | cut -c 1-64; }

# A fresh machine with the build's tools, apt, and a mirror whose offer is what the lock names.
new_machine() {
  local tool
  rm -rf "$BOX/now"
  mkdir -p "$BOX/now/bin" "$BOX/now/tree"
  backends="" mirror="" llama=""
  : >"$BOX/now/calls"
  for tool in $REAL_TOOLS; do ln -s "$(command -v "$tool")" "$BOX/now/bin/$tool"; done
  mkdir -p "$BOX/now/tree/scripts"
  cp -r "$ROOT/scripts/setup.sh" "$ROOT/scripts/lib" "$BOX/now/tree/scripts/"
  cp -r "$ROOT/cmake" "$BOX/now/tree/"
  mkdir -p "$BOX/now/tree/src/engine"/{llama,media}
  echo '#include <llama.h>' >"$BOX/now/tree/src/engine/llama/made.cc"
  make_build_tools
  make_debian_tools
  offer libllama-dev 1.0
  offer libc6 2.0
  locked libc6 2.0
  locked libllama-dev 1.0
}

# Runs the set-up on the machine; $output is all it said and $code how it ended.
set_up() {
  code=0
  output="$(env -i PATH="$BOX/now/bin" HOME="$BOX" CAIRN_DEBIAN_KEYRING="$BOX/now/keyring" \
    CAIRN_OS_RELEASE="$BOX/now/os-release" CAIRN_DEV="$BOX/now/dev" CAIRN_BACKENDS="${backends:-}" \
    CAIRN_DEBIAN_MIRROR="${mirror:-}" CAIRN_LLAMA="${llama:-}" \
    "$BOX/now/tree/scripts/setup.sh" "$@" 2>&1)" || code=$?
}

# --- what a test may say --------------------------------------------------------------------------

wrong() {
  printf '    %s\n' "$@" "the set-up ended with $code and said:" "$output"
  return 1
}

succeeds() { [[ "$code" -eq 0 ]] || wrong "expected success"; }
fails() { [[ "$code" -ne 0 ]] || wrong "expected failure"; }
says() { [[ "$output" == *"$1"* ]] || wrong "expected the words: $1"; }
says_nothing() { [[ -z "$output" ]] || wrong "expected silence"; }
has() { [[ -e "$BOX/now/tree/$1" ]] || wrong "expected the file $1"; }
has_no() { [[ ! -e "$BOX/now/tree/$1" ]] || wrong "expected no $1"; }
called() { grep -q -- "$1" "$BOX/now/calls" || wrong "expected a call of $1"; }
never_called() { ! grep -q -- "$1" "$BOX/now/calls" || wrong "expected no call of $1"; }
