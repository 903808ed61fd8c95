"""Plays a hostile client against Cairn and against Debian's llama-server, while a second client
chats: make abuse.

Writes docs/abuse.md; in a short form or with ONLY, build/abuse/abuse.md. All figures are left in
build/abuse/result.json. Fails where Cairn ends, /health is not answered within five seconds after
an attack, one is answered that should be refused, an answer is a 500, or the second client's answer
is another one afterwards. It never fails on a time.
"""

import json
import os
import statistics
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from abuse import page, targets
from abuse.attacks import Attack, all_attacks
from abuse.second_client import SecondClient, chat
from abuse.wire import FULL, SHORT, is_fault
from bench import machine
from bench.servers import installed_peer, make_model, make_projector
from bench.settings import Settings, fail, given, prepared, words

BEFORE_S = 0.4  # in which the second client chats before the attack
PROGRESS_S = 2
ATTACK_S_MAX = 120  # a server that works on an attack for longer is killed
NORMAL_TIMES, NORMAL_MS = 3, 50  # it is back when a first token takes no longer, or little more
WIDTH = 64


@dataclass
class Result:
    """One attack on one server. Times of the second client are those to its first token."""
    group: str
    title: str
    server: str
    statuses: dict
    words: str  # of the first refusal
    let_in: list  # the names of requests that were not refused
    slowest_s: float  # answer to the attack
    before_ms: list
    beside_ms: list
    beside_failed: dict  # chats of the second client without an answer, by reason
    rss_mib: list  # before, at most, and after
    health_s: float | None
    back_s: float | None  # until the second client was served as before; None: not within the limit
    usual_answer: str  # to the same question of the second client, at the server's start
    answer: str | None  # and now; None: not within the limit
    ended: str = ""  # how the process ended, if it did
    faults: list = field(default_factory=list)  # what makes the suite fail


def faults_of(attack: Attack, result: Result) -> list[str]:
    found = []
    if result.ended:
        found.append(f"the process ended ({result.ended})")
    elif result.health_s is None:
        found.append(f"/health was not answered within {targets.HEALTH_S} s")
    elif result.answer != result.usual_answer:
        found.append(f"the second client's answer is {result.answer!r} and not "
                     f"{result.usual_answer!r}")
    if any(is_fault(status) for status in result.statuses):
        found.append(f"an answer is a fault of the server: {result.statuses} {result.words}")
    if attack.refused and result.let_in:
        found.append(f"not refused, but answered with {page.answers(result)}: "
                     f"{', '.join(result.let_in)}")
    return found


class Ticker:
    """Says every two seconds that an attack goes on."""

    def __init__(self, text: str):
        self._text, self._over, self._begin = text, threading.Event(), time.monotonic()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def _tick(self):
        while not self._over.wait(PROGRESS_S):
            print(f"  … {self._text}: {time.monotonic() - self._begin:.0f} s", flush=True)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


class Player:
    def __init__(self, args):
        self._args, self._scale = args, SHORT if args.short else FULL
        self._client = SecondClient()

    def close(self):
        self._client.stop()

    def _chats(self, server, attack: Attack, seconds: float) -> list:
        self._client.begin(server.port, targets.SECOND, attack.picture, self._scale.limit_s)
        time.sleep(seconds)
        return self._client.end()

    def _back_s(self, server, attack: Attack, before_ms: list, ended: float) -> float | None:
        """Seconds since the attack ended, until a first token comes as fast as before."""
        usual = statistics.median(before_ms) if before_ms else 0
        enough = max(NORMAL_TIMES * usual, usual + NORMAL_MS)
        while (waited := time.monotonic() - ended) < self._scale.limit_s and server.lives():
            seen = chat(server.port, targets.SECOND, time.monotonic_ns(), attack.picture,
                        self._scale.limit_s - waited)
            if seen.first_ms is not None and seen.first_ms <= enough:
                return max(0.0, seen.ended_s - ended - seen.first_ms / 1000)
            time.sleep(0.05)
        return None

    def play(self, server, attack: Attack) -> Result:
        before = self._chats(server, attack, 0 if self._args.short else BEFORE_S)
        before_ms = [each.first_ms for each in before if each.first_ms is not None]
        resident_mib = server.memory_mib()
        server.reset_peak()
        self._client.begin(server.port, targets.SECOND, attack.picture, self._scale.limit_s)
        late = threading.Timer(ATTACK_S_MAX, server.kill, [f"killed after {ATTACK_S_MAX} s"])
        late.start()
        with Ticker(f"{attack.title}, on {server.name}"):
            try:
                outcome = attack.play(server.aim, self._scale)
                ended = time.monotonic()
            finally:
                late.cancel()
                beside = self._client.end()
            health_s = server.health_s()
            back_s = self._back_s(server, attack, before_ms, ended)
            answer = server.answer(self._scale.limit_s)
        failed = [each.status for each in beside if each.first_ms is None]
        result = Result(
            attack.group, attack.title, server.name, dict(outcome.statuses), outcome.words,
            outcome.let_in, outcome.slowest_s, before_ms,
            [each.first_ms for each in beside if each.first_ms is not None],
            {status: failed.count(status) for status in sorted(set(failed))},
            [resident_mib, server.memory_mib("VmHWM"), server.memory_mib()], health_s, back_s,
            server.usual_answer, answer,
            "" if server.lives() else server.ending())
        result.faults = faults_of(attack, result)
        return result

    def play_all(self, attacks: list, start, seen):
        """`start(attack)` starts the server for it, and `seen` takes each result. A server that
        ended, hangs or answers otherwise is replaced; in the whole form every group of attacks has
        a server of its own."""
        server, before = None, None
        try:
            for attack in attacks:
                if server is not None and self._needs_another(before, attack):
                    server.stop()
                    server = None
                if server is None:
                    server = start(attack)
                result = self.play(server, attack)
                print(line(result), flush=True)
                seen(result)
                before = attack
                if result.faults or result.back_s is None:
                    server.stop()
                    server = None
        finally:
            if server is not None:
                server.stop()

    def _needs_another(self, before: Attack, attack: Attack) -> bool:
        differs = before.store != attack.store or before.reranking != attack.reranking
        if self._args.short:
            return before.store != attack.store
        return differs or before.group != attack.group


def line(result: Result) -> str:
    title = result.title if len(result.title) <= WIDTH else result.title[:WIDTH - 1] + "…"
    wrong = "".join(f"\n    {fault}" for fault in result.faults)
    return (f"{result.server:12} {title:{WIDTH}} {page.answers(result)}; first token "
            f"{page.times(result)}, worst {page.worst(result)}; RSS {page.memory(result)}; back "
            f"after {page.back(result)}{wrong}")


def make_files(args):
    """One model that chats, ranks, embeds, fills gaps and sees."""
    make_model(args.lab, args.model, "qwen3", "--layers", 2, "--width", 64, "--infill", "--rank",
               "--train-ctx", 32768)
    make_projector(args.lab, args.projector, "qwen3vl_merger", "--width", 64)


def arguments(argv: list[str]):
    settings = Settings("abuse", __doc__, argv, folder="abuse")
    short = settings.flag("short", "less of everything, on Cairn alone, in half a minute")
    settings.add("only", words, [], "attacks whose title or group has one of these words")
    settings.flag("no-peer", "Cairn alone")
    settings.flag("peer-too", "llama-server in the short form too")
    settings.flag("redraw", "only write the page again, from the figures of the last run")
    settings.add("threads", int, 1)  # the model is so small that more only wait
    settings.page("abuse.md", whole=not short and not given("only", argv))
    args = settings.parsed()
    args.short = args.short or args.quick
    args.model, args.projector = args.work / "qwen3.gguf", args.work / "mmproj.gguf"
    return args


def find_peer(args):
    args.peer = installed_peer()
    if args.no_peer or (args.short and not args.peer_too):
        args.peer = None
    elif args.peer is None:
        print("there is no llama-server to compare with (apt install llama.cpp-tools): Cairn alone")


def chosen(args) -> list:
    attacks = all_attacks(SHORT if args.short else FULL, args.short)
    found = [attack for attack in attacks if not args.only or
             any(word in f"{attack.group} {attack.title}" for word in args.only)]
    return found or fail(f"no attack is called {', '.join(args.only)}")


def play(args, figures: Path):
    """The figures are written after each attack: a run that is interrupted keeps what it has."""
    results, attacks, begin = [], chosen(args), time.monotonic()
    args.load = os.getloadavg()[0]  # of other programs
    player = Player(args)

    def seen(result: Result):
        results.append(asdict(result))
        facts = machine.facts(args, begin, short=args.short, context=targets.CONTEXT,
                              slots=targets.SLOTS)
        all_seen = {"results": results, "facts": facts}
        figures.write_text(json.dumps(all_seen, indent=1) + "\n")
    try:
        player.play_all(attacks, lambda attack: targets.start_cairn(args, attack.store), seen)
        if args.peer is not None:
            player.play_all([attack for attack in attacks if not attack.ours_only],
                            lambda attack: targets.start_peer(args, attack.reranking), seen)
    finally:
        player.close()


def main(argv: list[str]) -> int:
    args = arguments(argv)
    figures = args.work / "result.json"
    if not args.redraw:
        prepared(args)
        find_peer(args)
        make_files(args)
        play(args, figures)
    seen = json.loads(figures.read_text())
    results = [Result(**each) for each in seen["results"]]
    args.out.write_text(page.page(results, seen["facts"]))
    print(f"written: {args.out}")
    faults = [f"{result.title}: {fault}" for result in results if result.server == "cairn"
              for fault in result.faults]
    for fault in faults:
        print(f"abuse: {fault}", file=sys.stderr)
    return 1 if faults else 0
