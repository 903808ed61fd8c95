"""Compares testdata/llama_server_flags.txt, the spellings that the tests know, with the --help of
the llama-server that is installed: make llama-flags. What becomes of a flag is in
src/cmd/llama_flags/llama_flags.tsv."""

import difflib
import re
import subprocess

from bench.machine import peer_version
from bench.servers import ROOT, find_peer
from bench.settings import Settings, fail

LIST = "testdata/llama_server_flags.txt"
SPELLING = r"--?[A-Za-z][A-Za-z0-9.-]*"
# A flag's line begins with its spellings, separated by commas; one space is before its values, and
# two before its sentence.
LINE = re.compile(rf"((?:{SPELLING}, *)*{SPELLING}),?( [^ ].*?)?(?:  |$)")


def spellings(text: str) -> list[str]:
    """The spellings of a help, each with the number of its values."""
    found = []
    for line in text.splitlines():
        if match := LINE.match(line):
            values = 0 if match[2] is None else 2 if match[2].strip() == "START END" else 1
            found += [f"{name.strip()} {values}" for name in match[1].split(",")]
    return found


def main(argv: list[str]):
    settings = Settings("llama-flags", __doc__, argv)
    settings.flag("update", "rewrite the list")
    args, peer, file = settings.parsed(), find_peer(), ROOT / LIST
    version = f"llama-server {peer_version(peer)}"
    told = subprocess.run([*peer.command, "--help"], cwd=peer.folder, capture_output=True,
                          text=True, check=True).stdout
    found = spellings(told) or fail("llama-server's --help names no flag.")
    header, *known = file.read_text().splitlines()
    if args.update:
        file.write_text("\n".join([header, *found, ""]))
        print(f"{LIST} has the flags of {version}; its first line has the version.")
        return
    if known != found:
        print("\n".join(difflib.unified_diff(known, found, LIST, version, lineterm="")))
        fail(f"the flags of {version} are others than those of {LIST}: make llama-flags UPDATE=1")
    print(f"{LIST} has the {len(found)} spellings of {version}.")
