# shellcheck shell=bash
# Lavapipe, Mesa's Vulkan driver that computes on the CPU: ggml's Vulkan backend runs on it where
# there is no GPU. It is unpacked into .deps/lavapipe, together with the backend and everything that
# both need beyond the private prefix. The prefix stays as it is, so no other program loads them.
#
# The driver and the prefix are of one Debian suite: the driver runs on the prefix's C library.
# Needs common.sh, lock.sh, prefix.sh and backends.sh.

readonly LAVAPIPE="$ROOT/.deps/lavapipe"
readonly LAVAPIPE_DRIVER=libvulkan_lvp.so

# Files in it name its absolute path.
lavapipe_marker() {
  {
    cat "$ROOT/scripts/lib/lavapipe.sh" "$ROOT/.deps/lock"
    echo "$ROOT"
  } | sha256 | cut -c 1-64
}

lavapipe_is_current() {
  [[ -f "$LAVAPIPE/.marker" && "$(cat "$LAVAPIPE/.marker")" == "$(lavapipe_marker)" ]]
}

resolve_lavapipe() {
  prepare_apt
  resolve_packages
}

# The folder of its libraries, below FOLDER: lavapipe_libraries FOLDER
lavapipe_libraries() { dirname "$(find "$1" -name "$LAVAPIPE_DRIVER")"; }

# The file by which Vulkan's loader finds the driver: write_driver_file FOLDER
write_driver_file() {
  local folder="$1" libraries
  libraries="$LAVAPIPE$(lavapipe_libraries "$folder" | sed "s|^$folder||")"
  sed "s|$LAVAPIPE_DRIVER|$libraries/&|" "$(find "$folder/usr" -name 'lvp_icd*.json')" \
    >"$folder/driver.json"
}

# One folder with the prefix's backends and the Vulkan one: link_backends FOLDER
link_backends() {
  local folder="$1" file
  mkdir "$folder/backends"
  while read -r file; do
    ln -sf "${file/#"$folder"/$LAVAPIPE}" "$folder/backends/"
  done < <(find "$PREFIX" "$folder/usr" -path '*/ggml/*/libggml-*.so')
}

# The names of the libraries that the libraries of a folder need: needed_libraries FOLDER
needed_libraries() {
  find "$1" -maxdepth 1 -name '*.so*' -type f -exec readelf -d {} + 2>/dev/null |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u
}

# Packages of the prefix are not unpacked again, but the driver's libraries are looked for in their
# own folder only. Libraries that every program loads stay the program's own. link_libraries FOLDER
link_libraries() {
  local folder name file found=yes
  folder="$(lavapipe_libraries "$1")"
  while [[ "$found" == yes ]]; do
    found=no
    while read -r name; do
      case "$name" in
        ld-linux* | libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.*) continue ;;
        libgcc_s.so.* | libstdc++.so.* | libggml*) continue ;;
      esac
      [[ ! -e "$folder/$name" ]] || continue
      file="$(find "$PREFIX" -name "$name" -print -quit)"
      [[ -n "$file" ]] || continue
      # A copy, so that the next round sees what it needs itself.
      cp -L "$file" "$folder/$name"
      found=yes
    done < <(needed_libraries "$folder")
  done
}

unpack_lavapipe() {
  local folder="$WORK/lavapipe"
  mkdir "$folder"
  unpack_more "$folder"
  # The drivers of GPUs are large, and there is no GPU.
  find "$folder" -name 'libvulkan_*.so' ! -name "$LAVAPIPE_DRIVER" -delete
  write_driver_file "$folder"
  link_backends "$folder"
  link_libraries "$folder"
  lavapipe_marker >"$folder/.marker"
  rm -rf "$LAVAPIPE"
  mv "$folder" "$LAVAPIPE"
}

stop_without_lavapipe() {
  fail "there is no GPU, and Mesa's software Vulkan driver cannot be had: $1."
}

# REQUIRES the private prefix.
ensure_lavapipe() {
  local complaint code
  if lavapipe_is_current; then return 0; fi
  complaint="$(prefix_complaint)"
  [[ -z "$complaint" ]] || stop_without_lavapipe "$complaint"
  # shellcheck disable=SC2034 # prefix.sh uses it
  ASKED="mesa-vulkan-drivers$(backend_packages "$(ggml_package "$ROOT/.deps/lock")" vulkan)"
  # A refusal is explained before the run ends.
  set +e
  run_step "Resolving Mesa's software Vulkan driver" "$WORK/resolve.log" resolve_lavapipe
  code=$?
  set -e
  [[ "$code" -eq 0 ]] || stop_without_lavapipe "apt's words are above"
  same_ggml "$ROOT/.deps/lock" ||
    stop_without_lavapipe "the mirror's libggml is not the one in .deps/prefix, and the Vulkan \
backend must be of the same version; make lock and make setup renew the prefix"
  packages_beyond "$ROOT/.deps/lock"
  check_more
  run_step "Downloading it: $(wc -l <"$WORK/more") packages" "$WORK/download.log" download_more
  run_step "Unpacking it into .deps/lavapipe" "$WORK/unpack.log" unpack_lavapipe
}
