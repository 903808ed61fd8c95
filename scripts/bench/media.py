"""Measures prompts with pictures beside llama-server: make bench-media.

Plays the shows of media_shows.py on Cairn and on Debian's llama-server, with its defaults and with
its best flags, on made models and made projectors, and writes docs/media_bench.md. All figures are
left in build/bench-media/figures.json. The first round is not timed: llama-server writes a trace
log in it, which says what it encodes.
"""

import json
import os
import re
import shutil
import time
from dataclasses import asdict, dataclass, field

from bench import machine
from bench.chat import answer_of, streaming
from bench.media_page import page
from bench.media_shows import (Show, Units, conversation, lower_bounds, moved, questions, restart)
from bench.servers import ROOT, Server, find_peer, make_model, make_projector
from bench.settings import Settings, chosen, fail, prepared, words

# llama-server's line for media that it encodes together, at the trace level of its log.
ENCODES = re.compile(r"encoding mtmd batch from idx = \d+, n_chunks = (\d+)")
TRACE = ("-lv", "4")
LOG_S = 0.1  # until a line is in the log
REUSE = ("--cache-reuse", "64")
# With the last one, the state of a slot goes to the RAM cache before each request.
BEST = ("--checkpoint-min-step", "0", "--ctx-checkpoints", "256", "--slot-prompt-similarity", "0")


@dataclass(frozen=True)
class Recipe:
    """A made model. `layers`: enough for every kind of layer that the architecture has."""
    architecture: str
    memory: str
    projector: str
    layers: int


RECIPES = {recipe.architecture: recipe for recipe in (
    Recipe("qwen35", "hybrid", "qwen3vl_merger", 4),
    Recipe("lfm2", "hybrid", "lfm2", 6),
    Recipe("gemma3", "sliding-window", "gemma3", 6),
    Recipe("llama", "attention", "lfm2", 2),
    Recipe("mamba2", "recurrent", "lfm2", 4),
)}


@dataclass(frozen=True)
class Configuration:
    """How a server is started. `projector`: with --mmproj."""
    name: str
    ours: bool
    flags: tuple = ()
    projector: bool = True


def configurations(show: Show, recipe: Recipe) -> list:
    if show.name == "moved":
        return [Configuration("Cairn", True, REUSE), Configuration("llama-server", False, REUSE),
                Configuration("llama-server, no projector", False, REUSE, projector=False)]
    best = BEST + (("--swa-full",) if recipe.memory == "sliding-window" else ())
    return [Configuration("Cairn", True), Configuration("llama-server", False),
            Configuration("llama-server, best flags", False, best)]


def shows_for(recipe: Recipe) -> list:
    shows = [conversation(), restart(), questions()]
    return shows + [moved()] if recipe.memory == "attention" else shows


@dataclass
class Figures:
    """Describes one request. Tokens are the server's counts."""
    phase: str
    sent: int
    prefilled: int
    first_token_ms: float
    encoded: int | None = None  # pictures; None where it is not known


@dataclass
class Run:
    """A show, played once. `prefetched`: tokens that Cairn prefilled between requests."""
    asks: list = field(default_factory=list)
    prefetched: int = 0


def script_of(shows: list) -> str:
    """Rules for Cairn's --script: the answers that a grammar makes llama-server give. Cairn's own
    grammar would leave the model free to reason before the answer."""
    return json.dumps({"rules": [
        {"text": ask.question(), "answer": {"content": ask.answer}}
        for show in shows for ask in show.asks()]})


def play_ask(server: Server, ask, ours: bool) -> Figures:
    body = streaming(ask.messages, len(ask.answer) + 8)
    if not ours:
        body["grammar"] = f'root ::= "{ask.answer}"'
    answer, who = answer_of(server, body), server.log_path.stem
    text = answer.message.get("content", "")
    if text != ask.answer:
        fail(f"{who} answered \"{text}\" in place of \"{ask.answer}\"")
    sent, prefilled = answer.usage["prompt_tokens"], answer.timings["prompt_n"]
    if sent != prefilled + answer.timings["cache_n"]:
        fail(f"{who} counts {sent} tokens, but prefilled {prefilled} and reused "
             f"{answer.timings['cache_n']}")
    return Figures(ask.phase, sent, prefilled, answer.first_token_ms)


class Player:
    def __init__(self, args, recipe: Recipe):
        self._args, self._recipe = args, recipe
        self._cache = args.work / "cache"
        self._script = args.work / "script.json"
        stem = f"{recipe.architecture}-{args.width}"
        self.model = args.models / f"{stem}.gguf"
        self.projector = args.models / f"mmproj-{recipe.projector}-{args.width}.gguf"

    def make_files(self, shows: list):
        self._script.write_text(script_of(shows))
        width = ("--width", self._args.width)
        make_model(self._args.lab, self.model, self._recipe.architecture, *width, "--layers",
                   self._recipe.layers, "--train-ctx", 262144)
        make_projector(self._args.lab, self.projector, self._recipe.projector, *width)

    def command(self, configuration: Configuration) -> list:
        ours = [str(self._args.cairn), "serve"]
        program = ours if configuration.ours else self._args.peer.command
        command = [*program, "-m", str(self.model)]
        if configuration.projector:
            command += ["--mmproj", str(self.projector)]
        command += ["-c", str(self._args.context), "-t", str(self._args.threads), "-b", "2048",
                    "-ub", "512", "--parallel", "1", "--cache-ram", str(self._args.ram_mib)]
        if configuration.ours:
            command += ["--cache-dir", str(self._cache), "--script", str(self._script)]
        return [*command, *configuration.flags]

    def start(self, configuration: Configuration, trace: bool) -> Server:
        who = "cairn" if configuration.ours else "llama-server"
        log_path = self._args.work / f"{who}-{self._recipe.architecture}.log"
        command = self.command(configuration)
        if trace and not configuration.ours:
            command += TRACE
        return Server(command, ROOT if configuration.ours else self._args.peer.folder, log_path)

    def play(self, show: Show, configuration: Configuration, trace: bool) -> Run:
        # A prompt that an earlier run saved must not spare this one its prefill.
        shutil.rmtree(self._cache, ignore_errors=True)
        run = Run()
        for leg in show.legs:
            with self.start(configuration, trace) as server:
                self._play_leg(server, leg, configuration, trace, run)
        if not any(each.encoded for each in run.asks):
            # Pictures were encoded, and its log does not say so.
            for each in run.asks:
                each.encoded = None
        return run

    def _play_leg(self, server: Server, leg: list, configuration: Configuration, trace: bool,
                  run: Run):
        before = 0
        for ask in leg:
            run.asks.append(play_ask(server, ask, configuration.ours))
            if trace:
                encoded = self._encoded(server, configuration)
                run.asks[-1].encoded, before = encoded - before, encoded
        if configuration.ours:
            run.prefetched += int(server.metric("cairn_prefetched_tokens_total"))
            server.wait_until_saved()

    @staticmethod
    def _encoded(server: Server, configuration: Configuration) -> int:
        """The pictures that the server has encoded since it was started."""
        if configuration.ours:
            return int(server.metric("cairn_media_encoded_total"))
        time.sleep(LOG_S)
        return sum(map(int, ENCODES.findall(server.log_path.read_text(errors="replace"))))

    def bounds(self, shows: list) -> dict:
        """The tokens and lower bounds of all requests, by Cairn's tokenizer, and the tokens of each
        picture."""
        with self.start(Configuration("Cairn", True), False) as server:
            units = Units(server)
            bounds = {show.name: list(map(asdict, lower_bounds(show, units))) for show in shows}
            return {"shows": bounds, "picture_tokens": sorted(set(units.media().values()))}


def play_model(args, recipe: Recipe) -> dict:
    """Plays all shows on one model. Never do two servers run at once."""
    player = Player(args, recipe)
    shows = shows_for(recipe)
    player.make_files(shows)
    return {"recipe": asdict(recipe), "bounds": player.bounds(shows),
            "shows": [play_show(args, player, recipe, show) for show in shows]}


def play_show(args, player: Player, recipe: Recipe, show: Show) -> dict:
    configured = configurations(show, recipe)
    runs = {each.name: [] for each in configured}
    # In the short form, the round with the trace is the one that is shown.
    for number in range(1 if args.quick else args.repeat + 1):
        for each in configured:
            runs[each.name].append(asdict(player.play(show, each, trace=number == 0)))
        print(f"{recipe.architecture}, {show.name}, round {number}, tokens prefilled: " +
              ", ".join(f"{name} {sum(ask['prefilled'] for ask in found[-1]['asks']):,}"
                        for name, found in runs.items()), flush=True)
    commands = [machine.command_text(args, player.command(each), args.work,
                                     args.models) for each in configured]
    return {"name": show.name, "title": show.title, "runs": runs, "commands": commands}


def arguments(argv: list[str]):
    settings = Settings("media", __doc__, argv)
    settings.flag("redraw", "only write the page again, from the figures of the last run")
    settings.add("threads", int, machine.cores())
    settings.add("context", int, 8192)
    settings.add("ram-mib", int, 8192, quick=512)
    settings.add("repeat", int, 3, "timed rounds")
    settings.add("only", words, list(RECIPES), "architectures", quick=["llama"])
    settings.page("media_bench.md")
    args = settings.parsed()
    args.width = 64 if args.quick else 256
    args.models = args.work if args.quick else ROOT / "models" / "bench"
    args.recipes = [RECIPES[name] for name in chosen(args.only, RECIPES, "ONLY")]
    return args


def main(argv: list[str]):
    args, begin = arguments(argv), time.monotonic()
    args.load = os.getloadavg()[0]  # of other programs
    figures = args.work / "figures.json"
    if args.redraw:
        results = json.loads(figures.read_text())
    else:
        prepared(args).peer = find_peer()
        results = {"models": []}
        for recipe in args.recipes:
            results["models"].append(play_model(args, recipe))
            results["facts"] = machine.facts(
                args, begin, repeat=1 if args.quick else args.repeat, quick=args.quick,
                context=args.context, ram_mib=args.ram_mib, width=args.width)
            # After each model: an interrupted run keeps what it has.
            figures.write_text(json.dumps(results, indent=1))
    args.out.write_text(page(results))
    print(f"written: {args.out}")
