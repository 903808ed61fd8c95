# shellcheck shell=bash
# Which files are ours, and which of them a branch has changed.

# Our C++ files, tracked or new; build products and downloads are ignored by git already.
all_sources() { git ls-files --cached --others --exclude-standard -- '*.h' '*.cc' | while_present; }

all_scripts() {
  git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run | while_present
}

# Drops names from standard input whose files are gone.
while_present() {
  local file
  while read -r file; do
    if [[ -f "$file" ]]; then echo "$file"; fi
  done
}

# Where this branch left the main one; nothing when there is no main branch to compare with.
branch_start() {
  local name
  for name in origin/main main; do
    if git merge-base HEAD "$name" 2>/dev/null; then return 0; fi
  done
}

# Changed since the branch began: committed, not yet committed, and new.
changed_sources() {
  local start
  start="$(branch_start)"
  if [[ -z "$start" ]]; then
    all_sources
    return 0
  fi
  {
    git diff --name-only --diff-filter=d "$start" -- '*.h' '*.cc'
    git ls-files --others --exclude-standard -- '*.h' '*.cc'
  } | sort -u
}

# Our C++ files from the heart outwards, so that a time limit cuts off what matters least.
sources_from_the_heart() {
  local folder heart=(tree policy store cache sched base engine chat api)
  for folder in "${heart[@]}"; do
    all_sources | grep "^src/$folder/" | grep -v _test.cc || true
  done
  all_sources | grep "^src/" | grep -vE "^src/($(IFS='|'; echo "${heart[*]}"))/|_test.cc$" || true
  all_sources | grep -vE "^src/|_test.cc$" || true
  all_sources | grep '_test.cc$' || true
}

# From files on standard input to the .cc files that show them to a compiler: a header is seen
# through the .cc of its name, or else through the first .cc that includes it.
to_units() {
  local file
  while read -r file; do
    case "$file" in
      *.cc) echo "$file" ;;
      *.h)
        if [[ -f "${file%.h}.cc" ]]; then
          echo "${file%.h}.cc"
        else
          git grep --untracked -l "#include \"${file#src/}\"" -- '*.cc' | head -n 1 || true
        fi
        ;;
    esac
  done | awk '!seen[$0]++'
}
