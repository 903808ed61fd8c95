"""The words of a page about the machine, the programs and the commands."""

import os
import platform
import re
import subprocess
import time
from pathlib import Path

from report.text import joined

from bench.pages import counted
from bench.settings import ROOT

LOAD_MAX = 0.5  # of an idle machine


def cores() -> int:
    return os.cpu_count() or 1


def first_line(command: list, folder: Path, begin: str = "") -> str:
    found = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, check=False)
    lines = [line for line in found.stdout.splitlines() if line.startswith(begin)]
    return lines[0][len(begin):].strip() if lines else "unknown"


def match_in(path: str, pattern: str, default: str) -> str:
    try:
        found = re.search(pattern, Path(path).read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else default


def processor() -> str:
    return match_in("/proc/cpuinfo", r"^model name\s*: (.*)$", "an unknown processor")


def cairn_version(args) -> str:
    told = subprocess.run([str(args.cairn), "--version"], capture_output=True, text=True,
                          check=False)
    return joined(told.stdout)


def peer_version(peer) -> str:
    return first_line([*peer.command, "--version"], peer.folder, "version: ")


def facts(args, begin: float, **more) -> dict:
    """Describes a run that began at `begin` by time.monotonic(), without llama-server where
    `args.peer` is None; `args.load` was the load of other programs then."""
    return {
        "minutes": max(1, round((time.monotonic() - begin) / 60)),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cores": cores(), "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(), "load": args.load, "threads": args.threads,
        "memory_gib": round(int(match_in("/proc/meminfo", r"^MemTotal:\s*(\d+)", "0")) / 2**20),
        "cairn": cairn_version(args), "peer": peer_version(args.peer) if args.peer else "", **more}


def machine_text(seen: dict, of: str = "") -> str:
    """`of`: what the figures are of, with its preposition."""
    text = (f"That took {counted(seen['minutes'], 'minute')} on {seen['date']}, on "
            f"{seen['cores']} cores ({seen['processor']}) with {seen['memory_gib']} GiB of memory, "
            f"{seen['system']}{of}. Ours is {seen['cairn']}; the peer is Debian's llama-server "
            f"{seen['peer']}, on the same libllama.")
    if seen["load"] > LOAD_MAX:
        text += (f" The machine was not idle: its load average was {seen['load']:.1f} at the "
                 "start. Tokens do not depend on that. Times do, and single ratios may be far off.")
    return text


def command_text(args, command: list, *folders: Path) -> str:
    """The command for people: no loader, and no path of this machine, nor of the folders."""
    text = " ".join(command).replace(" ".join(args.peer.command), "llama-server")
    text = text.replace(str(args.cairn), "cairn")
    for folder in (*folders, ROOT):
        text = text.replace(f"{folder}/", "")
    return text
