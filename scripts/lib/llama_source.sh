# shellcheck shell=bash
# libllama built from its source, in the private prefix in place of the distribution's package; the other
# libraries stay the distribution's. CAIRN_LLAMA asks for it:
#   source           the version that this Cairn was made with, or source:0.8, another one it was tried with
#   /path/to/folder  a checkout of llama.cpp, of any version from 0.7 on
#   package          the distribution's package again
# The choice is kept in .deps/llama for runs without the variable. A distribution that has moved on to a
# libllama whose interface the engine's files do not compile with makes the set-up build the first one by
# itself.

# The sources of llama.cpp that a crate holds: version of llama.cpp, version of the crate, SHA-256 of its
# file. cargo fetches it.
readonly LLAMA_CRATE=llama-cpp-sys-4
readonly LLAMA_SOURCES="\
0.7 0.9.0 59224e27e25b6766e159053e53160433f49fd92c108afd06e012fa57b26ac8a7
0.8 0.11.0 814738cddce0c910aa0f5192fd9d3e2ff7e447453e66326dd2f5df7f1375aea3"
readonly LLAMA_SOURCE_DEFAULT=0.7

# source, source:VERSION or a path; nothing for the distribution's package.
chosen_llama() {
  local chosen="${CAIRN_LLAMA:-$(cat "$ROOT/.deps/llama" 2>/dev/null)}"
  if [[ "$chosen" != package ]]; then echo "$chosen"; fi
}

# What makes one build of the chosen source another than the next.
llama_marker() {
  local chosen
  chosen="$(chosen_llama)"
  echo "$chosen"
  if [[ -d "$chosen/.git" ]]; then git -C "$chosen" rev-parse HEAD 2>/dev/null || true; fi
}

# llama_source_row VERSION: its row of LLAMA_SOURCES.
llama_source_row() { awk -v version="$1" '$1 == version' <<<"$LLAMA_SOURCES"; }

# Prints why the choice cannot be built, and what helps; nothing when it can.
llama_choice_complaint() {
  local chosen="$1" version="${1#source}"
  version="${version#:}"
  case "$chosen" in
    source | source:*)
      if [[ -z "$(llama_source_row "${version:-$LLAMA_SOURCE_DEFAULT}")" ]]; then
        echo "there is no source of llama.cpp $version; known are" \
          "$(awk '{ printf "%s%s", comma, $1; comma = ", " }' <<<"$LLAMA_SOURCES")"
      elif ! have cargo; then
        echo "its source comes as a crate, and cargo is not here. $(how_to_install cargo)"
      fi
      ;;
    /*)
      [[ -f "$chosen/CMakeLists.txt" && -f "$chosen/include/llama.h" ]] ||
        echo "$chosen is no checkout of llama.cpp: it has no include/llama.h"
      ;;
    *) echo "it is 'source', 'source:VERSION', 'package' or the absolute path of a checkout" ;;
  esac
}

# keep_llama_choice: for the runs to come.
keep_llama_choice() {
  if [[ -n "$(chosen_llama)" ]]; then
    chosen_llama >"$ROOT/.deps/llama.new"
    mv "$ROOT/.deps/llama.new" "$ROOT/.deps/llama"
  else
    rm -f "$ROOT/.deps/llama"
  fi
}

# check_llama_choice: of the variable, before anything is done.
check_llama_choice() {
  local chosen complaint
  chosen="$(chosen_llama)"
  [[ -n "$chosen" ]] || return 0
  complaint="$(llama_choice_complaint "$chosen")"
  [[ -z "$complaint" ]] || fail "CAIRN_LLAMA=$chosen: $complaint"
}

# fetch_llama VERSION FOLDER: the source of that version is then in FOLDER/llama.cpp. cargo goes through
# whatever mirror or proxy it is set up for here.
fetch_llama() {
  local crate sum file
  read -r _ crate sum < <(llama_source_row "$1")
  mkdir -p "$2/fetch"
  printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n' \
    >"$2/fetch/Cargo.toml"
  printf '[dependencies]\n%s = "=%s"\n' "$LLAMA_CRATE" "$crate" >>"$2/fetch/Cargo.toml"
  : >"$2/fetch/lib.rs"
  cargo fetch --manifest-path "$2/fetch/Cargo.toml"
  file="$(find "${CARGO_HOME:-$HOME/.cargo}/registry/cache" -name "$LLAMA_CRATE-$crate.crate" | head -n 1)"
  echo "$sum  $file" | sha256 -c
  tar -xzf "$file" -C "$2" --strip-components 1 "$LLAMA_CRATE-$crate/llama.cpp"
}

# The folder of libllama.so below usr in a prefix, as the distribution's own packages have it.
llama_library_folder() {
  local file
  file="$(find "$1/usr/lib" -name 'libllama.so*' -print -quit)"
  dirname "${file#"$1/usr/"}"
}

# remove_packaged_llama PREFIX: what the distribution's packages have of it.
remove_packaged_llama() {
  local folder="$1/usr"
  find "$folder" \( -name 'libllama*' -o -name 'libggml*' -o -name 'libmtmd*' -o -path '*/cmake/llama' \
    -o -path '*/cmake/ggml' -o -path "$folder/lib/*/ggml" \) -prune -exec rm -rf {} +
  rm -rf "$folder"/include/{llama,ggml,gguf,mtmd}*.h
  sed -i '\#lib\(llama\|ggml\|mtmd\)[^/]*$#d' "$1/.files"
}

# build_llama SOURCE: compiles it and installs it in $WORK/prefix, with a backend for each kind of CPU as the
# distribution's has. The kernels of llamafile sum otherwise in other batches (docs/troubleshooting.md).
build_llama() {
  local source="$1" build libraries
  build="$ROOT/.deps/llama-build-$(sha256 <<<"$source" | cut -c 1-8)"
  libraries="$(llama_library_folder "$WORK/prefix")"
  cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
    -DCMAKE_INSTALL_PREFIX="$PREFIX/usr" -DCMAKE_INSTALL_LIBDIR="$libraries" \
    -DGGML_NATIVE=OFF -DGGML_CPU_ALL_VARIANTS=ON -DGGML_BACKEND_DL=ON \
    -DGGML_BACKEND_DIR="$PREFIX/usr/$libraries/ggml/backends" \
    -DGGML_LLAMAFILE=OFF -DGGML_CCACHE=OFF -DLLAMA_BUILD_IS_DEV=OFF -DLLAMA_BUILD_COMMON=OFF \
    -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
    -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_MTMD=ON -DLLAMA_OPENSSL=OFF
  cmake --build "$build"
  remove_packaged_llama "$WORK/prefix"
  DESTDIR="$WORK/llama" cmake --install "$build"
  cp -a "$WORK/llama$PREFIX/usr/." "$WORK/prefix/usr/"
  mkdir -p "$WORK/prefix/usr/share/doc/llama.cpp"
  cp "$source/LICENSE" "$WORK/prefix/usr/share/doc/llama.cpp/copyright"
  (cd "$WORK/llama$PREFIX" && find usr -name '*.so*' | sed 's/^/llama.cpp /') >>"$WORK/prefix/.files"
}

explain_llama() {
  stop_without_space "$WORK/llama.log"
  fail "llama.cpp could not be built from its source; the words of the tools are above." \
    "Run this again: it goes on from there. CAIRN_LLAMA=package takes the distribution's package," \
    "CAIRN_LLAMA=/path/to/llama.cpp a checkout."
}

# put_llama CHOICE: into $WORK/prefix.
put_llama() {
  local source="$1" version="${1#source}"
  version="${version#:}"
  if [[ "$source" != /* ]]; then
    version="${version:-$LLAMA_SOURCE_DEFAULT}"
    explained "$WORK/llama.log" explain_llama "Fetching the source of llama.cpp $version" \
      fetch_llama "$version" "$WORK/source"
    source="$ROOT/.deps/llama.cpp-$version"
    rm -rf "$source"
    mv "$WORK/source/llama.cpp" "$source"
  fi
  explained "$WORK/llama.log" explain_llama "Building it, which takes minutes" build_llama "$source"
}

# The engine's files that see libllama, without code, against other headers of it:
# compile_engine FOLDER..., the first one first.
compile_engine() {
  local compiler folder headers=()
  compiler="$(compiler)"
  for folder in "$@"; do headers+=(-isystem "$folder"); done
  grep -rlZE --include=*.cc --exclude=*_test.cc '#include <(llama|ggml|gguf|mtmd)' "$ROOT/src/engine" |
    xargs -0 -n 4 -P "$(processors)" "$compiler" -std=c++20 -fsyntax-only -w -I"$ROOT/src" \
      "${headers[@]}" -DCAIRN_BACKENDS_DIR='""'
}

# The packages of llama.cpp that have another version than deps.lock: they may have another interface.
llama_has_moved() { grep -Eqs '^(new|moved) lib(llama|ggml)' "$WORK/differences"; }

# exchange_llama: in $WORK/prefix, the distribution's libllama for one from source where that is asked for,
# or where the distribution's has an interface that the engine does not compile with.
exchange_llama() {
  local chosen
  chosen="$(chosen_llama)"
  if [[ -z "$chosen" ]]; then
    llama_has_moved || return 0
    explained "$WORK/engine.log" choose_source "Compiling the engine's files with the new libllama" \
      compile_engine "$WORK/prefix/usr/include"
  fi
  if [[ -n "$chosen" ]]; then put_llama "$chosen"; fi
}

# Sets the `chosen` of exchange_llama.
choose_source() {
  local complaint
  say "  The distribution's libllama has an interface that Cairn was not made for."
  complaint="$(llama_choice_complaint source)"
  [[ -z "$complaint" ]] ||
    fail "libllama $LLAMA_SOURCE_DEFAULT would be built instead, but $complaint"
  chosen=source
}

# Whether the prefix has a libllama from source.
llama_is_built() { grep -qs '^llama\.cpp ' "$PREFIX/.files"; }
