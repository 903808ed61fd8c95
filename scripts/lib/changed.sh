# shellcheck shell=bash
# Which test programs and fuzz targets a change concerns. The change is everything since the commit
# in .ci/checked, at which CI or `make nightly` passed: each lane had then run over the programs that
# the changes before concerned. Without that commit in the history, every file counts as changed.

# changed_files: one a line.
changed_files() {
  local commit=""
  if [[ -f .ci/checked ]]; then commit="$(<.ci/checked)"; fi
  if [[ -n "$commit" ]] && git merge-base --is-ancestor "$commit" HEAD 2>/dev/null; then
    git diff --name-only "$commit"
    git ls-files --others --exclude-standard
  else
    git ls-files
  fi
}

# program_folders PROGRAM: the folders whose code the tests of tree/tree_test are about. What lies
# below them has tests of its own.
program_folders() {
  local folder="${1%%/*}"
  echo "src/$folder/"
  echo "testing/$folder/"
}

# includes FILE...: the paths that they include with quotes.
includes() { sed -n 's|^#include "\(.*\)"$|\1|p' "$@" | sort -u; }

# target_folders TARGET: those that a fuzz target includes from, itself or through a header of
# fuzz/; of base/ only the headers that it names.
target_folders() {
  local path headers=()
  echo "fuzz/$1_fuzz."
  echo "fuzz/corpus/$1/"
  mapfile -t headers < <(includes "fuzz/$1_fuzz.cc" | grep '^fuzz/' || true)
  while read -r path; do
    case "$path" in
      base/check.h) ;;
      base/*) echo "src/${path%.h}." ;;
      fuzz/*) echo "${path%.h}." ;;
      lab/* | testing/*) echo "${path%/*}/" ;;
      *) echo "src/${path%%/*}/" ;;
    esac
  done < <(includes "fuzz/$1_fuzz.cc" "${headers[@]}")
}

# concerned FOLDERS_OF NAME...: those of the names whose folders have a changed file.
concerned() {
  local folders_of="$1" name files folder
  shift
  files="$(changed_files)"
  for name in "$@"; do
    while read -r folder; do
      if grep -q "^$folder" <<<"$files"; then
        echo "$name"
        break
      fi
    done < <("$folders_of" "$name")
  done
}

concerned_programs() { concerned program_folders "$@"; }

concerned_targets() { concerned target_folders "$@"; }
