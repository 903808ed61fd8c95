"""Measures many conversations in turn on a server whose memory holds few of them: make bench-tiers.

For each seed, Cairn plays the conversations of tiers_play.py with memory for all of them, with
memory for two, and with memory for two and a disk for all; Debian's llama-server plays them with
its best flags, with memory for all and for two. The model is a made qwen35, or MODEL, on which less
is played. docs/tiers.md has a section for each model; a run writes its own anew and keeps the
others. All figures are in build/bench-tiers/figures.json. The bench fails when any request does.
"""

import json
import os
import shutil
import statistics
import time
from dataclasses import asdict, dataclass, fields

from bench import machine
from bench.servers import ROOT, Server, find_peer, made_for_benches
from bench.settings import Settings, chosen, fail, path, prepared, words
from bench.tiers_page import page
from bench.tiers_play import Shape, Sizes, play, sizes_of

FEW = 2  # conversations that a small memory holds
BEST = ("--checkpoint-min-step", "0", "--ctx-checkpoints", "256")
FIXED = ("new_tokens", "answer_tokens")  # of a shape


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

# Shapes of a whole run on the made model, on MODEL and in the short form.
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
        program = [str(args.cairn), "serve"] if configuration.ours else args.peer.command
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
        folder = ROOT if configuration.ours else self._args.peer.folder
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
            "commands": [machine.command_text(args, player.command(each, sizes), args.work,
                                              args.model.parent)
                         for each in args.configurations],
            "call": call_of(args), "facts": machine.facts(args, begin, repeat=args.seeds)}


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


def arguments(argv: list[str]):
    settings = Settings("tiers", __doc__, argv)
    settings.flag("redraw", "only write the page again, from the figures of earlier runs")
    settings.add("model", path, None, "a file, in place of a made one")
    settings.add("seeds", int, 3, quick=1)
    for size in fields(Shape):
        if size.name not in FIXED:
            settings.add(size.name, int, None)
    settings.add("threads", int, machine.cores())
    settings.add("ram-mib", int, 8192)
    settings.add("disk-gib", int, 32)
    settings.add("only", words, list(CONFIGURATIONS), "configurations")
    settings.add("flags", str.split, [], "further ones of cairn serve")
    settings.page("tiers.md")
    args = settings.parsed()
    args.is_made = args.model is None
    if not args.is_made and not args.model.is_file():
        fail(f"MODEL={args.model} is no file.")
    default = asdict(SHAPES["quick" if args.quick else "made" if args.is_made else "real"])
    given = {name: getattr(args, name, None) for name in default}
    args.shape = Shape(**{name: size if given[name] is None else given[name]
                          for name, size in default.items()})
    args.figures = args.work / ("figures-quick.json" if args.quick else "figures.json")
    names = chosen(args.only, CONFIGURATIONS, "ONLY")
    args.configurations = [CONFIGURATIONS[name] for name in dict.fromkeys(["memory", *names])]
    return args


def main(argv: list[str]):
    args = arguments(argv)
    args.load = os.getloadavg()[0]  # of other programs
    results = {"models": {}}
    if args.figures.is_file():
        results = json.loads(args.figures.read_text())
    if not args.redraw:
        prepared(args).peer = find_peer()
        if args.is_made:
            args.model = made_for_benches(args.lab, "qwen35", 4)
        results["models"][args.model.stem] = play_model(args)
        args.figures.write_text(json.dumps(results, indent=1) + "\n")
    args.out.write_text(page(results))
    print(f"written: {args.out}")
