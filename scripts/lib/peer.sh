# shellcheck shell=bash
# Debian's llama-server, to be measured beside ours, and what a page says of how that was done.
# Needs common.sh, ROOT and CAIRN.

# find_peer: PEER is the command and PEER_CWD the folder it runs in. ggml looks for its backends
# beside the program, which in the private prefix is the loader, and where it is run.
# shellcheck disable=SC2034 # whoever sources this reads them
find_peer() {
  local prefix="$ROOT/.deps/prefix/usr" libraries loader
  for loader in "$prefix"/lib/*/ld-linux*.so.*; do
    [[ -x "$prefix/bin/llama-server" && -x "$loader" ]] || continue
    libraries="$(dirname "$loader")"
    PEER=("$loader" --library-path "$libraries:$libraries/llama" "$prefix/bin/llama-server")
    # Its name ends with the number of ggml's interface.
    for PEER_CWD in "$libraries"/ggml/backends*; do :; done
    return 0
  done
  have llama-server || fail "there is no llama-server to compare with: install llama.cpp-tools."
  PEER=(llama-server)
  PEER_CWD="$ROOT"
}

# The command for people: no loader, paths from the top of the repository.
command_for_people() {
  local text="${ARGV[*]}"
  text="${text/#"${PEER[*]}"/llama-server}"
  text="${text//"$ROOT/"/}"
  echo "${text/#"$CAIRN"/cairn}"
}

processor_name() { sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1; }
memory_gib() { awk '/^MemTotal/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo 2>/dev/null; }

peer_version() { "${PEER[@]}" --version 2>&1 | sed -n '1s/^version: //p'; }

# A paragraph in lines of up to 100 columns.
paragraph() {
  tr '\n' ' ' | sed 's/ *$//' | fold -s -w 100 | sed 's/ *$//'
  printf '\n\n'
}
