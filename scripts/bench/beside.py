"""`peers` and `serve` share this: `cairn-lab bench` plays on one server after the other, Cairn and
llama-server, and lab/report draws the page."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from report.__main__ import main as report

from bench import machine
from bench.servers import ROOT, Server, find_peer
from bench.settings import Settings, fail, path, prepared

WORDS_MAX = 5  # lines of a log that are shown


def say(text: str):
    print(text, flush=True)


def add_settings(settings: Settings):
    """Adds those of both. OUT is the folder of the page."""
    settings.add("model", path, None, "a file, in place of a made one")
    settings.add("models", path, None, "a folder for made ones")
    settings.add("width", int, 256, "of made models", quick=64)
    settings.add("seed", int, 1)
    settings.add("slots", int, 4)
    settings.add("threads", int, machine.cores())
    settings.add("ram-mib", int, 8192, quick=512)
    settings.add("flags", str.split, [], "further ones of cairn serve")
    settings.add("out", path, None, "the folder of the page")


def arguments_of(settings: Settings):
    args = settings.parsed()
    if args.model and not args.model.is_file():
        fail(f"MODEL={args.model} is no file.")
    args.out = args.out or (args.work if args.quick or args.model else ROOT / "docs")
    args.models = args.models or (args.work if args.quick else ROOT / "models" / "bench")
    args.load, args.begin, args.cache = os.getloadavg()[0], time.monotonic(), args.work / "cache"
    prepared(args).peer = find_peer()
    return args


class Played:
    """Plays on servers, each in its turn, and keeps what was seen in the folder of the run."""

    def __init__(self, args):
        self._args = args
        self.files = []  # results

    def start(self, command: list, ours: bool, stem: str) -> Server:
        # A prompt that an earlier run saved must not spare this one its prefill.
        shutil.rmtree(self._args.cache, ignore_errors=True)
        folder = ROOT if ours else self._args.peer.folder
        return Server(command, folder, self._args.work / f"{stem}.server.log")

    def run(self, bench: list, stem: str, title: str) -> bool:
        """Runs `cairn-lab bench` with these arguments. Returns whether it found nothing wrong."""
        begin, base = time.monotonic(), self._args.work / stem
        file, log = Path(f"{base}.json"), Path(f"{base}.log")
        file.unlink(missing_ok=True)
        command = [str(self._args.lab), "bench", *map(str, bench), "--json", str(file)]
        with Path(f"{base}.txt").open("w") as out, log.open("w") as errors:
            code = subprocess.run(command, stdout=out, stderr=errors, check=False).returncode
        last = "".join(f"\n  | {line}" for line in
                       log.read_text(errors="replace").splitlines()[-WORDS_MAX:])
        if not file.is_file():
            fail(f"{title} could not be played:{last}")
        say(f"  {title}: {time.monotonic() - begin:.0f} s" +
            (f"; something went wrong, see {log}:{last}" if code != 0 else ""))
        self.files.append(file)
        return code == 0

    def write(self, kind: str, facts: str, page: Path, plots: Path | None = None):
        """Draws the page, with plots where there is a folder for them, and one for the browser."""
        told = self._args.work / "facts.md"
        told.write_text(facts)
        flags = ["--markdown", str(page), "--facts", str(told)]
        page.parent.mkdir(parents=True, exist_ok=True)
        if plots:
            for old in plots.glob("*.svg"):
                old.unlink()
            flags += ["--svg-dir", str(plots), "--html", str(self._args.work / f"{page.stem}.html")]
        if report([kind, *map(str, self.files), *flags]) != 0:
            fail(f"{page} could not be written")
        say(f"Wrote {page}" + (f" and its plots; for a browser: {flags[-1]}" if plots else ""))


def call_text(args, target: str, lines: list) -> str:
    """`make TARGET` with settings: of each line, names of them, or texts that have a =."""
    def setting(name: str) -> str:
        if "=" in name:
            return name
        value = getattr(args, name.lower())
        text = ",".join(value) if isinstance(value, list) else f"{value:g}" if isinstance(
            value, float) else str(value)
        return f"{name}={text}"

    words = " \\\n  ".join(" ".join(map(setting, line)) for line in lines)
    return f"```\nmake {target} {words}\n```\n\n"


def machine_paragraph(args) -> str:
    return machine.machine_text(machine.facts(args, args.begin))


def between(page: Path, first: str, last: str) -> str:
    """The part of the page from one heading to the next."""
    _, heading, rest = page.read_text().partition(f"\n## {first}")
    return heading.strip() + rest.partition(f"\n## {last}")[0]
