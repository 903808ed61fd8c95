# shellcheck shell=bash
# ggml's ready-made backends for GPUs and for other machines, beside the CPU's. They are packages of
# the same version as the prefix's libggml; they are unpacked into the prefix, and nothing is built
# again for them.
#
# CAIRN_BACKENDS=vulkan,hip,blas,rpc names them by hand, `none` leaves them out. Without it a machine
# with a GPU gets vulkan, which runs on the GPUs of every vendor.

readonly ALL_BACKENDS="vulkan hip blas rpc"
# Their checksums are in deps.lock. HIP's brings a hundred packages of ROCm; apt's own signatures and
# checksums are relied on for it.
# shellcheck disable=SC2034 # prefix.sh uses it
readonly LOCKED_BACKENDS="vulkan blas rpc"
# libggml's package carries the number of its interface, libggml0 or one day libggml1, and those of its
# backends are named after it.
readonly GGML_PACKAGE="libggml[0-9][0-9a-z.]*"

# ggml_in LOCK: "package version" of the libggml in a lock; nothing if there is none.
ggml_in() { awk -v name="^$GGML_PACKAGE\$" '$1 ~ name { print $1, $2; exit }' "$1"; }

# ggml_package LOCK
ggml_package() {
  local package
  read -r package _ < <(ggml_in "$1") || true
  echo "${package:-libggml0}"
}

# The same of this system.
ggml_package_of_system() {
  { dpkg-query --show --showformat='${Package}\n' 'libggml*' 2>/dev/null || true; } |
    sed -n "/^$GGML_PACKAGE\$/p" | sort -V | tail -n 1 | grep . || echo libggml0
}

# Whether a kernel driver offers a GPU to programs, or Vulkan finds one that is more than software.
machine_has_gpu() {
  local node
  for node in "${CAIRN_DEV:-/dev}"/dri/renderD*; do
    if [[ -e "$node" ]]; then return 0; fi
  done
  have vulkaninfo && vulkaninfo --summary 2>/dev/null |
    grep -Eq 'deviceType *= *PHYSICAL_DEVICE_TYPE_(DISCRETE|INTEGRATED|VIRTUAL)_GPU'
}

# chosen_backends: their names, sorted, one space between two; nothing for none.
chosen_backends() {
  local name
  if [[ -z "${CAIRN_BACKENDS:-}" ]]; then
    if machine_has_gpu; then echo vulkan; fi
    return 0
  fi
  [[ "$CAIRN_BACKENDS" != none ]] || return 0
  for name in ${CAIRN_BACKENDS//,/ }; do
    [[ " $ALL_BACKENDS " == *" $name "* ]] ||
      fail "CAIRN_BACKENDS=$CAIRN_BACKENDS: there is no backend '$name'; known are" \
        "${ALL_BACKENDS// /, }, and none."
  done
  tr ',' '\n' <<<"$CAIRN_BACKENDS" | sort -u | tr '\n' ' ' | sed 's/ *$//'
}

# backend_packages LIBGGML NAME...: those of the backends of that package.
backend_packages() {
  local name library="$1"
  shift
  for name in "$@"; do printf ' %s-backend-%s' "$library" "$name"; done
}

# The backends in the prefix, as chosen_backends prints them.
unpacked_backends() { cat "$PREFIX/.backends" 2>/dev/null || true; }

backends_are_current() {
  [[ -f "$PREFIX/.backends" && "$(unpacked_backends)" == "$(chosen_backends)" ]]
}

# remove_backends: those that are in the prefix. What they needed stays.
remove_backends() {
  local name
  for name in $(unpacked_backends); do
    find "$PREFIX" -path "*/ggml/*/libggml-$name.so" -delete
    # It is not there any more, so it is unpacked again when it is wanted again.
    sed -i "/^$GGML_PACKAGE-backend-$name /d" "$ROOT/.deps/lock"
  done
  rm -f "$PREFIX/.backends"
}

# The system's packages are the system's to install.
tell_backends() {
  local chosen
  chosen="$(chosen_backends)"
  [[ -n "$chosen" ]] || return 0
  # shellcheck disable=SC2086
  say "  For the GPU, install:$(backend_packages "$(ggml_package_of_system)" $chosen)"
}

# Of $WORK/lock, what this machine has not unpacked yet goes to $WORK/more.
packages_beyond() {
  awk 'FNR == NR { there[$1] = 1; next } !($1 in there)' "$1" "$WORK/lock" >"$WORK/more"
}

# A backend is loaded by the libggml that it was built with.
same_ggml() { [[ "$(ggml_in "$1")" == "$(ggml_in "$WORK/lock")" ]]; }

# Of the packages in $WORK/more, those that deps.lock names have the bytes that it names.
check_more() { compare_with_lock "$(architecture)" "$WORK/more"; }

download_more() {
  mkdir -p "$WORK/more.debs"
  cd "$WORK/more.debs"
  # One package a word: the split is wanted.
  # shellcheck disable=SC2046
  own_apt download $(awk '{ print $1 "=" $2 }' "$WORK/more")
  verify_debs "$WORK/more" "$WORK/more.debs"
}

# unpack_more FOLDER
unpack_more() {
  unpack "$WORK/more" "$WORK/more.debs" "$1"
  link_blas "$1"
}

# Resolves the prefix's packages together with the backends', whose versions must go together. The
# prefix's alone come first: they tell what libggml is called today.
# resolve_backends NAME...
resolve_backends() {
  [[ -d "$WORK/apt" ]] || prepare_apt
  # shellcheck disable=SC2034 # prefix.sh uses it
  ASKED=""
  [[ -f "$WORK/lock" ]] || resolve_packages
  # shellcheck disable=SC2034
  ASKED="$PREFIX_PACKAGES$(backend_packages "$(ggml_package "$WORK/lock")" "$@")"
  resolve_packages
}

stop_without_backends() {
  [[ -z "${CAIRN_BACKENDS:-}" ]] ||
    fail "the packages of CAIRN_BACKENDS=$CAIRN_BACKENDS cannot be had here (see above);" \
      "CAIRN_BACKENDS=none sets up without them."
  say "  There is a GPU, but no package of a backend for it: this build computes on the CPU."
}

add_backends() {
  if ! same_ggml "$ROOT/.deps/lock"; then make_prefix; fi
  packages_beyond "$ROOT/.deps/lock"
  [[ -s "$WORK/more" ]] || return 0
  check_more
  run_step "Downloading them: $(wc -l <"$WORK/more") packages" "$WORK/backends.log" download_more
  run_step "Unpacking them into .deps/prefix" "$WORK/unpack_backends.log" \
    unpack_more "$PREFIX"
  LC_ALL=C sort -u "$ROOT/.deps/lock" "$WORK/more" -o "$ROOT/.deps/lock"
}

# REQUIRES the prefix. Fails where a backend was named by hand and cannot be had; what was chosen
# because there is a GPU may be missing, and is not looked for again.
ensure_backends() {
  local chosen code
  chosen="$(chosen_backends)"
  remove_backends
  if [[ -n "$chosen" ]] && llama_is_built; then
    [[ -z "${CAIRN_BACKENDS:-}" ]] ||
      fail "CAIRN_BACKENDS=$CAIRN_BACKENDS names packages for the distribution's libllama, and this one is" \
        "built from source. CAIRN_LLAMA=package takes the distribution's; CAIRN_BACKENDS=none goes without."
    say "  There is a GPU, but a libllama from source is built for the CPU alone."
  elif [[ -n "$chosen" ]]; then
    # A refusal is explained before the run ends.
    set +e
    # shellcheck disable=SC2086 # one name a word
    run_step "Resolving ggml's backends: $chosen" "$WORK/resolve_backends.log" \
      resolve_backends $chosen
    code=$?
    set -e
    if [[ "$code" -eq 0 ]]; then add_backends; else stop_without_backends; fi
  fi
  echo "$chosen" >"$PREFIX/.backends"
}
