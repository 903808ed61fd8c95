# shellcheck shell=bash
# What every script here shares: its help, how it talks, how it fails, how long a step took.

# The comment at the head of a script is its help. This file is sourced without arguments of its own, so
# it sees the script's.
case "${1:-}" in
  --help | -h)
    help_file="$0"
    [[ -f "$help_file" ]] || help_file="$OLDPWD/$0"
    sed -n '2,/^[^#]/s/^#\( \|$\)//p' "$help_file"
    exit 0
    ;;
esac

# One line to the reader.
say() { printf '%s\n' "$*"; }

# One line of what is wrong and what to do about it, then out.
fail() {
  printf 'cairn: %s\n' "$*" >&2
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# The SHA-256 of standard input, or of the files named, as sha256sum prints it.
sha256() {
  if have sha256sum; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

processors() { getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1; }

# One more than there are processors, for tests that wait for their servers.
tests_at_once() { echo "$(($(processors) + 1))"; }

# run_step "What happens" LOG command...: one line while it runs, its seconds at the end of the
# line, and the end of what it printed when it fails. The command stops at its first error; for
# that, run_step must not be called in a condition (`if`, `||`), where bash would go on.
run_step() {
  local title="$1" log="$2" start="$SECONDS" flags="$-" code
  shift 2
  printf '%s ... ' "$title"
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1 </dev/null
  code=$?
  [[ "$flags" != *e* ]] || set -e
  if [[ "$code" -eq 0 ]]; then
    say "$((SECONDS - start)) s"
    return 0
  fi
  say "failed after $((SECONDS - start)) s"
  tail -n 20 "$log" | sed 's/^/  | /' >&2
  return "$code"
}
