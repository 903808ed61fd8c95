#!/usr/bin/env python3
"""Measures prompts with pictures beside llama-server. Called by `make bench-media`.

    [REPEAT=3] [ONLY=qwen35,gemma3] [THREADS=n] [CONTEXT=8192] [RAM_MIB=8192] [WORK=FOLDER]
        [OUT=FILE] bench_media.py [--quick] [--redraw]

Plays the shows of bench_media_shows.py on Cairn and on Debian's llama-server, with its defaults and
with its best flags, on made models and made projectors, and writes docs/media_bench.md. All figures
are left in build/bench-media/figures.json.

    --quick   half a minute on one small model, into WORK: does the whole chain work?
    --redraw  only write the page again, from the figures of the last run

The first round is not timed: llama-server writes a trace log in it, which says what it encodes.
"""

import argparse
import http.client
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent)]

from bench_media_page import page  # noqa: E402
from bench_media_shows import (Show, Units, conversation, lower_bounds, moved,  # noqa: E402
                               questions, restart)
from bench_server import (REQUEST_S, ROOT, Server, fail, page_path, parsed,  # noqa: E402
                          peer_command)

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
    """Of one request. Tokens are the server's counts."""
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


def events_of(reply):
    """The objects of a stream of server-sent events, as they come."""
    for line in reply:
        if line.startswith(b"data: {"):
            yield json.loads(line[len(b"data: "):])


def script_of(shows: list) -> str:
    """Rules for Cairn's --script: the answers that a grammar makes llama-server give. Cairn's own
    grammar would leave the model free to reason before the answer."""
    return json.dumps({"rules": [
        {"text": ask.question(), "answer": {"content": ask.answer}}
        for show in shows for ask in show.asks()]})


def play_ask(server: Server, ask, ours: bool) -> Figures:
    body = {"messages": ask.messages, "max_tokens": len(ask.answer) + 8, "temperature": 0,
            "cache_prompt": True, "stream": True, "stream_options": {"include_usage": True}}
    if not ours:
        body["grammar"] = f'root ::= "{ask.answer}"'
    body = json.dumps(body)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=REQUEST_S)
    begin = time.monotonic()
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    if reply.status != 200:
        fail(f"{server.log_path.stem} answered {reply.status}: {reply.read()[:400].decode()}")
    text, first_token_ms, timings, usage = "", 0.0, {}, {}
    for event in events_of(reply):
        for choice in event.get("choices", []):
            piece = choice.get("delta", {}).get("content") or ""
            if piece and not text:
                first_token_ms = (time.monotonic() - begin) * 1000
            text += piece
        timings = event.get("timings") or timings
        usage = event.get("usage") or usage
    connection.close()
    if text != ask.answer:
        fail(f"{server.log_path.stem} answered \"{text}\" in place of \"{ask.answer}\"")
    sent, prefilled = usage["prompt_tokens"], timings["prompt_n"]
    if sent != prefilled + timings["cache_n"]:
        fail(f"{server.log_path.stem} counts {sent} tokens, but prefilled {prefilled} and reused "
             f"{timings['cache_n']}")
    return Figures(ask.phase, sent, prefilled, first_token_ms)


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
        lab, width = str(self._args.lab), str(self._args.width)
        model = ["make", self._recipe.architecture, str(self.model), "--layers",
                 str(self._recipe.layers), "--train-ctx", "262144"]
        projector = ["make-projector", self._recipe.projector, str(self.projector)]
        for command in (model, projector):
            subprocess.run([lab, "model", *command, "--width", width], check=True,
                           stdout=subprocess.DEVNULL)

    def command(self, configuration: Configuration) -> list:
        program = [str(self._args.cairn), "serve"] if configuration.ours else self._args.peer
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
        return Server(command, ROOT if configuration.ours else self._args.peer_folder, log_path)

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
    commands = [command_text(args, player.command(each)) for each in configured]
    return {"name": show.name, "title": show.title, "runs": runs, "commands": commands}


def command_text(args, command: list) -> str:
    """For people: no loader, paths from the top of the repository."""
    text = " ".join(command).replace(" ".join(args.peer), "llama-server")
    text = text.replace(str(args.cairn), "cairn").replace(f"{args.work}/", "")
    return text.replace(f"{args.models}/", "").replace(f"{ROOT}/", "")


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


def facts(args, seconds: float) -> dict:
    return {
        "minutes": max(1, round(seconds / 60)), "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}",
        "processor": match_in("/proc/cpuinfo", r"^model name\s*: (.*)$", "an unknown processor"),
        "memory_gib": round(int(match_in("/proc/meminfo", r"^MemTotal:\s*(\d+)", "0")) / 2**20),
        "cairn": first_line([str(args.cairn), "--version"], ROOT),
        "peer": first_line([*args.peer, "--version"], args.peer_folder, "version: "),
        "repeat": 1 if args.quick else args.repeat, "quick": args.quick, "threads": args.threads,
        "load": args.load, "context": args.context, "ram_mib": args.ram_mib, "width": args.width}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="does the whole chain work?")
    args = parsed(parser, "bench-media", threads=os.cpu_count() or 1)
    setting = os.environ.get
    args.models = args.work if args.quick else ROOT / "models" / "bench"
    args.out = page_path(args, "media_bench.md", whole=not args.quick)
    args.repeat = int(setting("REPEAT", "3"))
    args.context = int(setting("CONTEXT", "8192"))
    args.ram_mib = int(setting("RAM_MIB", "512" if args.quick else "8192"))
    args.width = 64 if args.quick else 256
    args.recipes = setting("ONLY", "llama" if args.quick else ",".join(RECIPES)).split(",")
    for name in args.recipes:
        if name not in RECIPES:
            fail(f"ONLY={name}: there are {', '.join(RECIPES)}.")
    return args


def main():
    args, begin = arguments(), time.monotonic()
    args.load = os.getloadavg()[0]  # of other programs
    figures = args.work / "figures.json"
    if args.redraw:
        results = json.loads(figures.read_text())
    else:
        if not args.cairn.is_file():
            fail(f"there is no program {args.cairn}; `make build` makes it")
        found = peer_command() or fail("there is no llama-server to compare with")
        args.peer, args.peer_folder = found
        for folder in (args.work, args.models):
            folder.mkdir(parents=True, exist_ok=True)
        results = {"models": []}
        for name in args.recipes:
            results["models"].append(play_model(args, RECIPES[name]))
            results["facts"] = facts(args, time.monotonic() - begin)
            # After each model: an interrupted run keeps what it has.
            figures.write_text(json.dumps(results, indent=1))
    args.out.write_text(page(results))
    print(f"written: {args.out}")


if __name__ == "__main__":
    main()
