"""Measures how long a start takes until /health says ready, and until a request that comes at once
is answered, beside Debian's llama-server: make bench-start.

Plays the first start of Cairn in an empty cache folder, its second start in the same folder, and
the peer's, in turn, PAIRS times over, and writes docs/start.md. Without models: the demo's, and a
made qwen35.
"""

import shutil
import statistics
import subprocess
import time
from pathlib import Path

from bench import machine
from bench.pages import counted, paragraph, table
from bench.servers import ROOT, Server, find_peer, make_model
from bench.settings import Settings, prepared

POLL_S = 0.01
FIRST, PEER, SECOND = "first", "llama-server", "second"

ABOUT = """Milliseconds from the start of the program until `/health` says ready, the median of
{starts} of each, ours and Debian's llama-server in turn. `make bench-start` writes this page.
{cairn}; the peer is llama-server {peer}, on the same libllama. {processor}, {threads} threads, a
context of {context} tokens, the model's file in the page cache."""

BEHIND = """The first start has an empty cache folder, the second one follows right behind it.
llama-server warms the model up before it is ready (one decode of an empty prompt); ours decodes 24
tokens to prove that the model's states can be stored and set back: twice where a GPU computes,
unless a start before was idle long enough to measure the grid. That measurement begins when the
server is ready, and a request ends it at once."""


class Player:
    def __init__(self, args):
        self._args, self._asked = args, 0

    def _command(self, model: Path, who: str) -> list:
        args = self._args
        common = ["-m", model, "-c", args.context, "-t", args.threads]
        if who == PEER:
            return [*args.peer.command, *common]
        return [args.cairn, "serve", *common, "--cache-dir", args.work / "cache"]

    def start(self, model: Path, who: str) -> tuple:
        """Milliseconds until it is ready, and until the answer. No request is like another, so none
        is found in the cache folder."""
        begin = time.monotonic()
        with Server(self._command(model, who), self._args.peer.folder if who == PEER else ROOT,
                    self._args.work / f"{who}.log", poll_s=POLL_S) as server:
            ready_ms = (time.monotonic() - begin) * 1000
            self._asked += 1
            server.post("/v1/chat/completions", {
                "messages": [{"role": "user", "content": f"{self._asked}: say hello."}],
                "max_tokens": 4, "temperature": 0})
            return ready_ms, (time.monotonic() - begin) * 1000

    def play(self, model: Path) -> dict:
        """Medians by who, until it is ready and until the answer. A second start is one right
        behind the first, so the first has no idle time to measure the grid in."""
        times = {FIRST: [], PEER: [], SECOND: []}
        model.read_bytes()  # it is in memory then, as for all starts
        for pair in range(self._args.pairs):
            print(f"{model.stem}, {pair + 1} of {self._args.pairs}", flush=True)
            shutil.rmtree(self._args.work / "cache", ignore_errors=True)
            for who, seen in times.items():
                seen.append(self.start(model, who))
        return {who: [statistics.median_low(column) for column in zip(*seen)]
                for who, seen in times.items()}


def figures_table(found: dict, at: int) -> str:
    """`at`: 0, until it is ready; 1, until the answer."""
    rows = []
    for name, times in found.items():
        first, second, peer = (times[who][at] for who in (FIRST, SECOND, PEER))
        rows.append([name, f"{first:.0f}", f"{second:.0f}", f"{peer:.0f}", f"{first / peer:.2f}",
                     f"{second / peer:.2f}"])
    return table(["model", "first start", "second start", "llama-server", "first / llama-server",
                  "second / llama-server"], rows)


def page(args, found: dict) -> str:
    about = ABOUT.format(starts=counted(args.pairs, "start"), cairn=machine.cairn_version(args),
                         peer=machine.peer_version(args.peer), processor=machine.processor(),
                         threads=args.threads, context=args.context)
    return "\n".join([
        "# How long a start takes", "", paragraph(about), figures_table(found, 0),
        "Until the first answer, of four tokens, to a request that comes as soon as the server is "
        "ready:\n", figures_table(found, 1), paragraph(BEHIND)])


def usual_models(args) -> list:
    subprocess.run([ROOT / "scripts" / "model.sh"], check=True)
    settings = dict(line.split("=", 1)
                    for line in (ROOT / "models" / "demo.env").read_text().splitlines() if line)
    return [ROOT / settings["MODEL"],
            make_model(args.lab, args.work / "made-qwen35.gguf", "qwen35", "--width", 256,
                       "--layers", 4, "--train-ctx", 32768)]


def main(argv: list[str]):
    settings = Settings("start", __doc__, argv)
    settings.files("models", "files, in place of the usual ones")
    settings.add("pairs", int, 5, quick=1)
    settings.add("context", int, 8192)
    settings.add("threads", int, machine.cores())
    settings.page("start.md")
    args = prepared(settings.parsed())
    args.peer = find_peer()
    player = Player(args)
    found = {model.stem: player.play(model) for model in args.models or usual_models(args)}
    args.out.write_text(page(args, found))
    print(f"written: {args.out}")
