#!/usr/bin/env python3
"""Runs real clients against `cairn serve` and writes docs/clients.md. Called by `make clients`.

    run.py [--only NAME,…] [--keep FOLDER] [--no-write]
"""

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))

from drivers.claude import Claude, ClaudeWithChangingHeader  # noqa: E402
from drivers.cline import Cline  # noqa: E402
from drivers.cn import Continue  # noqa: E402
from drivers.codex import Codex  # noqa: E402
from drivers.opencode import OpenCode  # noqa: E402
from drivers.pi import Pi  # noqa: E402
from drivers.qwen import Qwen  # noqa: E402
from install import PACKAGES, install  # noqa: E402
from session import Row, Setting, play  # noqa: E402

DRIVERS = [Claude(), ClaudeWithChangingHeader(), Codex(), OpenCode(), Qwen(), Cline(), Pi(),
           Continue()]
FLAGS = ["-c", "262144", "-np", "8", "--cache-ram", "4096", "-t", "2", "--temp", "0"]
CLIENTS = ROOT / ".deps" / "clients"
MADE = ("a made qwen35", ROOT / "models" / "clients-qwen35.gguf", [])


def play_all(only: list, folder: Path) -> list:
    rows = []
    for driver in DRIVERS:
        if only and driver.package not in only:
            continue
        name, model, flags = MADE
        version = PACKAGES[driver.package].version
        reason = install(driver.package, CLIENTS)
        if reason:
            rows.append(Row(driver.name, version, name, not_run=reason))
        else:
            print(f"{driver.name} {version} on {name}", flush=True)
            setting = Setting(ROOT / "build" / "cairn", model, name, FLAGS + flags, folder, CLIENTS)
            rows.append(play(driver, version, setting))
        print(rows[-1], flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="folders of clients, with commas")
    parser.add_argument("--keep", type=Path, help="folder for what is sent and said")
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    with tempfile.TemporaryDirectory(prefix="cairn-clients-") as temporary:
        rows = play_all(only, options.keep or Path(temporary))
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
