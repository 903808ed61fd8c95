#!/usr/bin/env python3
"""Measures many conversations in turn on a server whose memory holds few of them. Called by
`make bench-tiers`.

    [MODEL=FILE] [SEEDS=3] [CONVERSATIONS=24] [TOKENS=9000] [ROUNDS=3] [BESIDE=1] [CLIENTS=6]
        [SLOTS=4] [THREADS=n] [RAM_MIB=8192] [DISK_GIB=32] [ONLY=memory,two,disk,peer,peer-two]
        [FLAGS="further flags of cairn serve"] [WORK=FOLDER] [OUT=FILE]
        bench_tiers.py [--quick] [--redraw]

For each seed, Cairn plays the conversations of bench_tiers_play.py with memory for all of them,
with memory for two, and with memory for two and a disk for all; Debian's llama-server plays them
with its best flags, with memory for all and for two. The model is a made qwen35, or MODEL, on which
less is played. docs/tiers.md has a section for each model; a run writes its own anew and keeps the
others. All figures are in build/bench-tiers/figures.json. The bench fails when any request does.

    --quick   a minute or two on a few conversations, into WORK: does the whole chain work?
    --redraw  only write the page again, from the figures of earlier runs
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent)]

from bench_media import command_text, facts  # noqa: E402
from bench_server import (ROOT, Server, fail, made_model, page_path, parsed,  # noqa: E402
                          peer_command)
from bench_tiers_page import page  # noqa: E402
from bench_tiers_play import Shape, Sizes, play, sizes_of  # noqa: E402

FEW = 2  # conversations that a small memory holds
BEST = ("--checkpoint-min-step", "0", "--ctx-checkpoints", "256")


@dataclass(frozen=True)
class Configuration:
    """How a server is started. `memory`: for how many conversations; None: for all. `beside`:
    whether a long answer is read beside its last rounds."""
    name: str
    title: str
    ours: bool
    memory: int | None = None
    disk: bool = False
    beside: bool = True


CONFIGURATIONS = {each.name: each for each in (
    Configuration("memory", "Cairn, memory for all", True),
    Configuration("two", "Cairn, memory for two", True, FEW, beside=False),
    Configuration("disk", "Cairn, memory for two and a disk for all", True, FEW, disk=True),
    Configuration("peer", "llama-server, memory for all", False),
    Configuration("peer-two", "llama-server, memory for two", False, FEW, beside=False),
)}

# Of a whole run on the made model, on MODEL and in the short form.
SHAPES = {
    "made": Shape(24, 9000, 100, 24, 3, 1, 6, 4),
    "real": Shape(24, 600, 100, 24, 2, 1, 6, 4),
    "quick": Shape(8, 2000, 100, 24, 2, 1, 6, 4),
}


class Player:
    def __init__(self, args):
        self._args = args
        self._cache = args.work / "cache"

    def memory_mib(self, configuration: Configuration, sizes: Sizes | None) -> int:
        if configuration.memory is None:
            return self._args.ram_mib
        return sizes.memory_mib(configuration.memory, self._args.shape.room())

    def command(self, configuration: Configuration, sizes: Sizes | None) -> list:
        args, shape = self._args, self._args.shape
        program = [str(args.cairn), "serve"] if configuration.ours else args.peer
        command = [*program, "-m", str(args.model), "-c", str(shape.context()), "-t",
                   str(args.threads), "-b", "2048", "-ub", "512", "--parallel", str(shape.slots),
                   "--kv-unified", "--cache-ram", str(self.memory_mib(configuration, sizes))]
        if not configuration.ours:
            return [*command, *BEST]
        if not configuration.disk:
            return [*command, "--cache-disk", "0", *args.flags]
        return [*command, "--cache-dir", str(self._cache), "--cache-disk", str(args.disk_gib),
                *args.flags]

    def start(self, configuration: Configuration, sizes: Sizes | None) -> Server:
        shutil.rmtree(self._cache, ignore_errors=True)
        folder = ROOT if configuration.ours else self._args.peer_folder
        who = "cairn" if configuration.ours else "llama-server"
        return Server(self.command(configuration, sizes), folder,
                      self._args.work / f"{who}-{configuration.name}.log")

    def sizes(self) -> Sizes:
        with self.start(CONFIGURATIONS["memory"], None) as server:
            return sizes_of(server)

    def play(self, configuration: Configuration, sizes: Sizes, seed: int) -> dict:
        with self.start(configuration, sizes) as server:
            return play(server, self._args.shape, sizes, seed, configuration.ours,
                        configuration.disk, configuration.beside)


def play_model(args) -> dict:
    """All configurations of each seed in turn. Never do two servers run at once."""
    player, begin = Player(args), time.monotonic()
    sizes = player.sizes()
    runs = {each.name: [] for each in args.configurations}
    for seed in range(args.seeds):
        for each in args.configurations:
            start = time.monotonic()
            run = player.play(each, sizes, seed)
            runs[each.name].append(run)
            first_ms = statistics.median(run["first_ms"])
            print(f"{args.model.stem}, seed {seed + 1} of {args.seeds}, {each.title}: "
                  f"{run['prefilled']:,.0f} tokens prefilled for {run['new']:,} new ones, first "
                  f"token after {first_ms:.0f} ms, {time.monotonic() - start:.0f} s", flush=True)
    return {"model": args.model.stem, "made": args.is_made, "shape": asdict(args.shape),
            "sizes": asdict(sizes), "memory_mib": {
                each.name: player.memory_mib(each, sizes) for each in args.configurations},
            "titles": {each.name: each.title for each in args.configurations}, "runs": runs,
            "commands": [command_text(args, player.command(each, sizes))
                         for each in args.configurations],
            "call": args.call, "facts": facts(args, time.monotonic() - begin)}


def shape_of(kind: str) -> Shape:
    default = SHAPES[kind]
    names = {"conversations": "CONVERSATIONS", "tokens": "TOKENS", "rounds": "ROUNDS",
             "beside": "BESIDE", "clients": "CLIENTS", "slots": "SLOTS"}
    given = {field: int(os.environ.get(name, getattr(default, field)))
             for field, name in names.items()}
    return Shape(**{**asdict(default), **given})


def call_of(args) -> str:
    """The command for people."""
    shape = args.shape
    model = "" if args.is_made else f" MODEL={args.model.name}"
    if args.quick:
        return f"make bench-tiers QUICK=1{model}"
    flags = f' \\\n  FLAGS="{" ".join(args.flags)}"' if args.flags else ""
    return (f"make bench-tiers{model} SEEDS={args.seeds} CONVERSATIONS={shape.conversations} "
            f"TOKENS={shape.tokens} \\\n  ROUNDS={shape.rounds} BESIDE={shape.beside} "
            f"CLIENTS={shape.clients} SLOTS={shape.slots} THREADS={args.threads} "
            f"RAM_MIB={args.ram_mib} DISK_GIB={args.disk_gib}{flags}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="does the whole chain work?")
    args = parsed(parser, "bench-tiers", threads=os.cpu_count() or 1)
    setting = os.environ.get
    args.is_made = not setting("MODEL")
    args.model = Path(setting("MODEL", "")).resolve()
    args.shape = shape_of("quick" if args.quick else "made" if args.is_made else "real")
    args.seeds = int(setting("SEEDS", "1" if args.quick else "3"))
    args.ram_mib = int(setting("RAM_MIB", "8192"))
    args.disk_gib = int(setting("DISK_GIB", "32"))
    args.flags = setting("FLAGS", "").split()
    args.out = page_path(args, "tiers.md", whole=not args.quick)
    args.figures = args.work / ("figures-quick.json" if args.quick else "figures.json")
    names = [*dict.fromkeys(["memory", *setting("ONLY", ",".join(CONFIGURATIONS)).split(",")])]
    for name in names:
        if name not in CONFIGURATIONS:
            fail(f"ONLY={name}: there are {', '.join(CONFIGURATIONS)}.")
    args.configurations = [CONFIGURATIONS[name] for name in names]
    if not args.is_made and not args.model.is_file():
        fail(f"MODEL={args.model} is no file.")
    # What `facts` asks for.
    args.repeat, args.context, args.width = args.seeds, args.shape.context(), 256
    return args


def prepare(args):
    if not args.cairn.is_file():
        fail(f"there is no program {args.cairn}; `make build` makes it")
    args.peer, args.peer_folder = peer_command() or fail(
        "there is no llama-server to compare with")
    args.work.mkdir(parents=True, exist_ok=True)
    if args.is_made:
        args.model = made_model(args.lab, "qwen35", 4).resolve()
    args.models = args.model.parent
    args.call = call_of(args)


def main():
    args = arguments()
    args.load = os.getloadavg()[0]  # of other programs
    results = {"models": {}}
    if args.figures.is_file():
        results = json.loads(args.figures.read_text())
    if not args.redraw:
        prepare(args)
        results["models"][args.model.stem] = play_model(args)
        args.figures.write_text(json.dumps(results, indent=1) + "\n")
    args.out.write_text(page(results))
    print(f"written: {args.out}")


if __name__ == "__main__":
    main()
