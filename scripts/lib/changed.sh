# shellcheck shell=bash
# Which tests and objects a change concerns. The change is everything since the commit in
# .ci/checked, at which CI or `make nightly` passed: each lane had then run over what the changes
# before concerned. Without that commit in the history, every file counts as changed.

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

# How everything is built, or what tests of many folders read.
build_changed() {
  grep -qE '^(CMakeLists.txt|CMakePresets.json|cmake/|deps.lock|testdata/|scripts/lib/|testing/(base|CMake))' \
    < <(changed_files)
}

# folder_of PATH: the part of the tree that a source or a program belongs to: src/sched, lab/sim, tests.
folder_of() {
  case "$1" in
    src/*/* | fleet/*/* | lab/*/* | testing/*/*) cut -d / -f 1-2 <<<"$1" ;;
    *) echo "${1%%/*}" ;;
  esac
}

# included_folders FOLDER|FILE [grep's arguments]: the folders from which it includes.
included_folders() {
  local from="$1"
  shift
  grep -rhoE --include=*.cc --include=*.h "$@" \
    '^#include "(fuzz/[a-z_]+\.h|[a-z_]+/([a-z_]+/)?)' "$from" |
    sed 's/^#include "//' | sort -u | while read -r path; do
    case "$path" in
      fuzz/*.h) echo "$path" ;;
      fleet/* | lab/* | testing/*) cut -d / -f 1-2 <<<"$path" ;;
      tests/*) echo tests ;;
      *) if [[ -d "src/${path%%/*}" ]]; then echo "src/${path%%/*}"; fi ;;
    esac
  done | sort -u
}

# folders_below FOLDER|FILE: itself and all that it includes, directly or through others; of the others
# their tests do not count.
folders_below() {
  local -A seen=(["$1"]=1)
  local waiting=() folder
  mapfile -t waiting < <(included_folders "$1")
  while [[ "${#waiting[@]}" -gt 0 ]]; do
    folder="${waiting[0]}"
    waiting=("${waiting[@]:1}")
    if [[ -n "${seen[$folder]:-}" || ! -e "$folder" ]]; then continue; fi
    seen[$folder]=1
    mapfile -t -O "${#waiting[@]}" waiting < <(included_folders "$folder" "--exclude=*_test.cc")
  done
  printf '%s\n' "${!seen[@]}"
}

# concerned_folders FOLDER...: those of the folders in which, or below which, a file has changed.
concerned_folders() {
  local changed folder below
  changed="$(changed_files | while read -r file; do folder_of "$file"; done | sort -u)"
  for folder in "$@"; do
    if build_changed; then
      echo "$folder"
      continue
    fi
    below="$(folders_below "$folder")"
    if grep -qxFf <(echo "$below") <<<"$changed"; then echo "$folder"; fi
  done
}

# object_sources BUILD OBJECT: the sources of an object in the build folder BUILD: one, or all that it
# has of a target (cmake/Unity.cmake).
object_sources() {
  case "$2" in
    */Unity/*) sed -n "s|^#include \"$PWD/\(.*\)\"$|\1|p" "$1/${2%.o}" ;;
    *) sed -n 's|CMakeFiles/[^/]*\.dir/\(.*\.cc\)\.o$|\1|p' <<<"$2" ;;
  esac
}

# program_folders BUILD PROGRAM: the folders of the sources that the program in the build folder BUILD
# has for itself: of lab/sim_test lab/sim.
program_folders() {
  ninja -C "$1" -t query "$2" | sed -n 's|^ *\([a-z].*/CMakeFiles/[^/]*\.dir/.*\.o\)$|\1|p' |
    while read -r object; do object_sources "$1" "$object"; done |
    while read -r file; do folder_of "$file"; done | sort -u
}

# concerned_programs BUILD PROGRAM...: of test programs, named by their paths in the build folder BUILD,
# those that the change can make fail.
concerned_programs() {
  local build="$1" program folder
  local -A folders=() concerned=()
  shift
  for program in "$@"; do folders[$program]="$(program_folders "$build" "$program")"; done
  while read -r folder; do concerned[$folder]=1; done < <(
    # One folder a word: the split is wanted.
    # shellcheck disable=SC2046
    concerned_folders $(printf '%s\n' "${folders[@]}" | sort -u)
  )
  for program in "$@"; do
    for folder in ${folders[$program]}; do
      if [[ -n "${concerned[$folder]:-}" ]]; then
        echo "$program"
        break
      fi
    done
  done
}

# changed_programs PATH...: those whose own folder has changed. What lies below has threads, and tests of
# them, of its own.
changed_programs() {
  local program folder files
  files="$(changed_files)"
  for program in "$@"; do
    folder="$(dirname "$program")"
    if build_changed || grep -qE "^((src/)?$folder|testing/${folder##*/})/" <<<"$files"; then echo "$program"; fi
  done
}

# dependent_files CHANGED: of the files that the file CHANGED lists, and of those that include one of
# them, directly or through others, the paths.
dependent_files() {
  grep -rE --include=*.cc --include=*.h '^#include "' src fleet lab testing tests bench fuzz |
    awk -v list="$1" '
      function add(path) { if (!(path in reached)) { reached[path] = 1; queue[count++] = path } }
      BEGIN { while ((getline path < list) > 0) add(path) }
      {
        from = $0
        sub(/:.*/, "", from)
        split($0, quoted, "\"")
        beside = from
        sub(/[^\/]*$/, "", beside)
        users[quoted[2]] = users[quoted[2]] " " from
        users["src/" quoted[2]] = users["src/" quoted[2]] " " from
        users[beside quoted[2]] = users[beside quoted[2]] " " from
      }
      END {
        for (i = 0; i < count; ++i) {
          found = split(users[queue[i]], more, " ")
          for (j = 1; j <= found; ++j) add(more[j])
        }
        for (i = 0; i < count; ++i) print queue[i]
      }
    '
}

# each_source FOLDER: from lines "RANK OBJECT" to the same lines with an object for each source, as a
# build has them that compiles sources one by one. Of the sources of one object those stay that read a
# changed file; their rank is 1 if they have changed themselves.
each_source() {
  local rank object source
  dependent_files "$1/changed" >"$1/dependent"
  while read -r rank object; do
    if [[ "$object" != */Unity/* ]]; then
      echo "$rank $object"
      continue
    fi
    object_sources "$1" "$object" | while read -r source; do
      if grep -qxF "$source" "$1/changed"; then
        rank=1
      elif grep -qxF "$source" "$1/dependent"; then
        rank=2
      else
        continue
      fi
      echo "$rank ${object%Unity/*}${source#"${object%%CMakeFiles/*}"}.o"
    done
  done
}

# concerned_objects FOLDER: of what the build folder has compiled, the objects that read a changed file,
# by the compiler's own lists of what each object includes. First those whose own source has changed.
# They are named as in a build whose objects have one source each, such as build-release.
concerned_objects() {
  changed_files >"$1/changed"
  ninja -C "$1" -t deps 2>/dev/null | awk -v root="$PWD/" '
    function tell() { if (rank) print rank, object; rank = 0 }
    NR == FNR { changed[root $0] = 1; next }
    /^[^ ].*: #deps/ { tell(); object = $1; sub(/:$/, "", object); next }
    {
      path = $1
      sub(/^\.\.\//, root, path)
      if (path in changed) rank = (rank == 1 || path ~ /\.cc$/) ? 1 : 2
    }
    END { tell() }
  ' "$1/changed" - | each_source "$1" | sort | cut -d " " -f 2
}
