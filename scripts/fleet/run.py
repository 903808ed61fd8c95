"""Plays conversations on a fleet of four Cairn servers behind a front, and on one server alone,
kills and drains one of the four: make fleet-test.

Writes result.json and result.md into build/fleet, and fails when a bound is missed. As root the
servers run in network namespaces. A setup is a front (fronts.py) and a tier (tiers.py): to try
another, add a line to SETUPS. Every setup plays the same scenarios and the same events.
"""

import json
import statistics
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field

from bench.servers import ROOT, make_model
from bench.settings import Settings, chosen, path, prepared, words
from fleet import epp, fronts, scenarios, tiers, topology
from fleet.player import Player
from fleet.servers import Server

PLACES = ["a", "b", "c", "d"]
VICTIM = "b"  # the server that is killed or drained
QUIET_S = 1  # in which a front that knows the servers' caches must have learned all of them


@dataclass
class Setup:
    """`plays`: the events that it plays, by scenario, each with how often the tokens of one server
    alone the fleet may prefill; None: as often as it likes. ANY: every other scenario."""

    name: str
    front: object
    tier: object
    plays: dict
    alone: bool = False
    pause_s: float = 0  # of a client between two turns
    # The front knows what each server can resume. When all has been quiet, one more turn of each
    # conversation, one at a time, must find all of its history.
    knows_caches: bool = False

    def events(self, scenario: str) -> dict:
        return self.plays.get(scenario, self.plays.get(ANY, {}))


ANY = "any"
PAUSE_S = 2
# Of a turn: its message's template, and the answer before it where that is tokenized anew.
TURN_EXTRA_TOKENS = 128
ALONE = Setup("one server", fronts.Direct(), tiers.NoTier(), {ANY: {"": None}}, alone=True)
# A server that is lost with a crowd's conversations leaves a quarter of all history to prefill.
# Without a tier no bound holds for that; it is measured.
SETUPS = [
    Setup("round robin", fronts.Haproxy("haproxy-round-robin", "roundrobin"), tiers.NoTier(),
          {"chats": {"": None}}),
    Setup("session hash", fronts.Haproxy("haproxy"), tiers.NoTier(),
          {"chats": {"": 1.45, "killed": 1.35, "drained": 1.35},
           "crowd": {"": 1.45, "killed": None, "drained": None}, ANY: {"": 1.45}}),
    Setup("session hash, shared folder", fronts.Haproxy("haproxy"), tiers.SharedFolder(),
          {"chats": {"": 1.45, "killed": 1.35, "drained": 1.35},
           "crowd": {"": 1.45, "killed": 1.35, "drained": 1.35}}),
    Setup("session hash, shared folder on JuiceFS", fronts.Haproxy("haproxy"), tiers.JuiceFs(),
          {"chats": {"": 1.45, "killed": 1.35, "drained": 1.35}}),
    # Agents and people pause between turns. Without a pause a turn comes to its new server before
    # its old one has uploaded the turn before.
    Setup("session hash, remote tier", fronts.Haproxy("haproxy"), tiers.Valkey(),
          {"chats": {"": 1.45, "killed": 1.35, "drained": 1.35}}),
    Setup("session hash, remote tier, pauses", fronts.Haproxy("haproxy"), tiers.Valkey(),
          {"chats": {"": 1.10, "killed": 1.35, "drained": 1.10}}, pause_s=PAUSE_S),
    Setup("session hash, S3 and Valkey, pauses", fronts.Haproxy("haproxy"), tiers.Seaweed(),
          {"chats": {"": 1.10, "killed": 1.35, "drained": 1.10}}, pause_s=PAUSE_S),
    Setup("endpoint picker", epp.Epp(), tiers.NoTier(),
          {"chats": {"": 1.10, "killed": 1.35, "drained": 1.35, "front restarted": 1.10},
           "crowd": {"": 1.10}, "team": {"": 1.20}, ANY: {"": 1.10}}, knows_caches=True),
]


SHORT_SETUP = "session hash"


@dataclass
class Play:
    """What became of one scenario on one setup."""

    setup: str
    scenario: str
    api: str
    event: str  # "", "killed", "drained" or "front restarted"
    read_tokens: float = 0.0
    ratio: float = 0.0  # of them to those of one server alone
    ratio_max: float | None = None
    turns: int = 0
    moved: int = 0  # turns on another server than their conversation's turn before
    failed: int = 0
    cut: int = 0  # of the failed ones: those streaming from the server that was killed
    first_token_ms_p50: float = 0.0
    first_token_ms_p95: float = 0.0
    seconds: float = 0.0
    front_file: str = ""  # whether front_file.py saw the event
    busiest_share: float = 0.0  # of the turns, the server's that answered most
    busiest_max: float | None = None
    # The turns after the quiet: those on another server, and the tokens that one prefilled on
    # average.
    quiet_turns: int = 0
    quiet_moved: int = 0
    quiet_tokens_per_turn: float = 0.0
    turn_tokens: int = 0
    errors: list = field(default_factory=list)

    def misses(self) -> list[str]:
        """The bounds that it missed."""
        found = []
        if self.ratio_max is not None and self.ratio > self.ratio_max:
            found.append(f"prefilled {self.ratio:.2f} times as much as one server alone, more than "
                         f"{self.ratio_max}")
        if self.failed > self.cut:
            found.append(f"{self.failed - self.cut} requests failed that did not stream from the "
                         f"lost server: {self.errors[:3]}")
        if self.quiet_moved > 0:
            found.append(f"{self.quiet_moved} turns went to another server, {QUIET_S} s after all "
                         "was quiet")
        if self.quiet_tokens_per_turn > self.turn_tokens + TURN_EXTRA_TOKENS:
            found.append(f"{self.quiet_tokens_per_turn:.0f} tokens were prefilled for a turn of "
                         f"{self.turn_tokens}, {QUIET_S} s after all was quiet")
        if self.busiest_max is not None and self.busiest_share > self.busiest_max:
            found.append(f"one server answered {self.busiest_share:.0%} of the turns, more than "
                         f"{self.busiest_max:.0%}")
        if self.front_file == "no":
            found.append("front_file.py did not take the lost server off its list")
        return found


class Fleet:
    def __init__(self, args, places_topology):
        self._args, self._topology = args, places_topology
        self._environment = fronts.Environment(places_topology, args.work, ROOT)

    def play(self, setup: Setup, scenario: str, api: str, event: str) -> Play:
        sizes = scenarios.SHORT if self._args.short else scenarios.FULL
        how = scenarios.SCENARIOS[scenario]
        conversations = scenarios.make(scenario, sizes, api, self._args.seed)
        play = Play(setup.name, scenario, api, event, ratio_max=setup.events(scenario)[event],
                    turn_tokens=sizes.turn_tokens,
                    busiest_max=None if setup.alone else how.busiest_max)
        setup.tier.start(self._args.work, self._topology.front_address())
        servers = self._servers(setup)
        front_file = None
        try:
            for server in servers:
                server.start()
            for server in servers:
                server.wait_until_ready()
            host, port = setup.front.start(servers, self._environment)
            player = Player(host, port, how.clients or self._args.clients)
            begin = time.monotonic()
            if event:
                front_file = fronts.FrontFile(servers, self._environment)
            player.play(conversations, self._event(event, servers, setup.front),
                        how.in_rounds, setup.pause_s)
            play.seconds = time.monotonic() - begin
            if front_file is not None:
                left = [server for server in servers
                        if server.place != VICTIM or event == "front restarted"]
                play.front_file = "yes" if front_file.wait_for(left) else "no"
            play.read_tokens = sum(server.read_tokens() for server in servers)
            player.name_servers(servers)
            self._sum_up(play, player)
            if setup.knows_caches and event in ("", "front restarted"):
                self._play_after_quiet(play, conversations, player, servers)
        finally:
            if front_file is not None:
                front_file.stop()
            setup.front.stop()
            for server in servers:
                server.stop()
            setup.tier.stop()
        return play

    def _servers(self, setup: Setup) -> list[Server]:
        servers = []
        for place in PLACES[:1] if setup.alone else PLACES:
            ram_mib = self._args.ram_mib * (len(PLACES) if setup.alone else 1)
            command = [str(self._args.cairn), "serve", "-m", str(self._args.model), "-t", "1",
                       "-c", "32768", "--parallel", "4", "--grid", "64", "--no-warm",
                       "--chat-template", self._args.chat_template, "--cache-ram", str(ram_mib),
                       *setup.tier.flags(place)]
            keyed = getattr(setup.front, "keyed", True)
            if not keyed:
                command += setup.front.flags(self._topology.address(place)[0], self._args.work)
            servers.append(Server(self._topology, place, command,
                                  self._args.work / f"server-{place}.log", keyed))
        return servers

    @staticmethod
    def _event(event: str, servers: list[Server], front):
        if not event:
            return None
        if event == "front restarted":
            return front.restart
        victim = next(server for server in servers if server.place == VICTIM)
        return {"killed": victim.kill, "drained": victim.drain}[event]

    @staticmethod
    def _play_after_quiet(play: Play, conversations: list, player: Player, servers: list[Server]):
        """One more turn of each conversation, one at a time."""
        time.sleep(QUIET_S)
        before = sum(server.read_tokens() for server in servers)
        for number, conversation in enumerate(conversations):
            conversation.turns.append(f"{number:04d} " * (play.turn_tokens // 5))
        quiet = Player(*player.address, clients=1)
        quiet.play(conversations)
        quiet.name_servers(servers)
        last_server = player.last_servers()
        play.quiet_turns = len(conversations)
        play.quiet_moved = sum(last_server[conversation] != server
                               for conversation, server in quiet.last_servers().items())
        after = sum(server.read_tokens() for server in servers)
        play.quiet_tokens_per_turn = (after - before) / play.quiet_turns

    @staticmethod
    def _sum_up(play: Play, player: Player):
        last_server, answered = {}, Counter()
        for attempt in player.attempts:
            if attempt.error:
                play.failed += 1
                play.cut += (play.event == "killed" and attempt.server == VICTIM
                             and attempt.status == 200)
                play.errors.append(f"{attempt.session} turn {attempt.turn} at "
                                   f"{attempt.server or 'no server'}: {attempt.error}")
                continue
            play.turns += 1
            before = last_server.get(attempt.conversation)
            play.moved += before is not None and before != attempt.server
            last_server[attempt.conversation] = attempt.server
            answered[attempt.server] += 1
        play.busiest_share = max(answered.values(), default=0) / max(play.turns, 1)
        times = sorted(each.first_token_ms for each in player.attempts if each.began)
        if len(times) > 1:
            play.first_token_ms_p50 = statistics.median(times)
            play.first_token_ms_p95 = statistics.quantiles(times, n=20)[-1]


def wanted_plays(args):
    """(setup, scenario, api, event) in order; a server alone first, which the others are compared
    with. Each API is played where nothing happens, and both together where something does."""
    setups = [setup for setup in SETUPS
              if (any(word in setup.name for word in args.only) if args.only
                  else not args.short or setup.name == SHORT_SETUP)]
    for scenario in args.scenarios:
        all_at_once = args.short or scenarios.SCENARIOS[scenario].mixed
        for api in [scenarios.BOTH] if all_at_once else scenarios.APIS:
            due = [(setup, event) for setup in setups for event in setup.events(scenario)
                   if all_at_once or bool(event) == (api == scenarios.BOTH)]
            for setup, event in ([(ALONE, "")] if due else []) + due:
                yield setup, scenario, api, event


def play_all(args, fleet: Fleet) -> tuple[list[Play], list[str]]:
    plays, skips, alone = [], [], {}
    for setup, scenario, api, event in wanted_plays(args):
        reason = setup.front.missing() or setup.tier.missing()
        if reason:
            skip = f"{setup.name}: {reason}"
            if skip not in skips:
                skips.append(skip)
                print(f"skipped: {skip}", flush=True)
            continue
        play = fleet.play(setup, scenario, api, event)
        if setup.alone:
            alone[scenario, api] = play.read_tokens
        play.ratio = play.read_tokens / alone[scenario, api]
        plays.append(play)
        print(line(play), flush=True)
    return plays, skips


def title(play) -> str:
    event = f", one {play.event}" if play.event else ""
    return f"{play.scenario}, {play.api}, {play.setup}{event}"


def line(play) -> str:
    bound = f" (at most {play.ratio_max})" if play.ratio_max is not None else ""
    failed = f"{play.failed} failed" + (f", {play.cut} of them cut streams" if play.cut else "")
    seen = {"yes": ", front_file.py saw it",
            "no": ", front_file.py missed it"}.get(play.front_file, "")
    busiest = "" if play.busiest_max is None else (
        f"; the busiest server answered {play.busiest_share:.0%} (at most {play.busiest_max:.0%})")
    quiet = "" if not play.quiet_turns else (
        f"; after the quiet {play.quiet_turns} turns, {play.quiet_moved} moved, "
        f"{play.quiet_tokens_per_turn:.0f} tokens each")
    return (f"{title(play)}: {play.read_tokens:,.0f} tokens prefilled, {play.ratio:.2f} x{bound}; "
            f"{play.turns} turns, {play.moved} moved, {failed}; first token "
            f"{play.first_token_ms_p50:.0f}/{play.first_token_ms_p95:.0f} ms; "
            f"{play.seconds:.1f} s{seen}{busiest}{quiet}")


def row(play) -> str:
    bound = "" if play.ratio_max is None else f"{play.ratio_max:.2f}"
    failed = f"{play.failed}" + (f" ({play.cut} cut)" if play.cut else "")
    quiet = "" if not play.quiet_turns else (
        f"{play.quiet_moved} of {play.quiet_turns} moved, {play.quiet_tokens_per_turn:.0f} tokens")
    return (f"| {play.scenario} | {play.api} | {play.setup} | {play.event} | "
            f"{play.read_tokens:,.0f} | {play.ratio:.2f} | {bound} | {play.turns} | {play.moved} | "
            f"{failed} | {play.first_token_ms_p50:.0f} / {play.first_token_ms_p95:.0f} | {quiet} |")


def markdown(plays, skips, command: str, places: str, args) -> str:
    lines = [f"`{command}`: four servers in {places}, {args.clients} clients at a time, "
             f"{args.model_text}.", "",
             "| scenario | API | setup | one server is | tokens prefilled | x one server | "
             "at most | turns | moved | failed | first token p50 / p95, ms | "
             "turns after the quiet |",
             "| --- " * 12 + "|"]
    lines += [row(play) for play in plays]
    lines += [""] + [f"Skipped: {skip}." for skip in skips] if skips else []
    return "\n".join(lines) + "\n"


def arguments(argv: list[str]):
    settings = Settings("fleet", __doc__, argv, folder="fleet")
    short = settings.flag("short", "one scenario over both APIs")
    settings.add("only", words, [], "setups whose name has one of these words")
    settings.add("scenarios", words, ["chats"] if short else list(scenarios.SCENARIOS))
    settings.add("architecture", str, "llama", "of the made model")
    settings.add("model", path, None, "a file, in place of a made one")
    settings.add("chat-template", str, "qwen")
    settings.add("ram-mib", int, 64, "of each server; one server alone has four times as much")
    settings.add("clients", int, 6)
    settings.add("seed", int, 1)
    settings.flag("loopback", "no network namespaces")
    args = settings.parsed()
    chosen(args.scenarios, scenarios.SCENARIOS, "SCENARIOS")
    args.model_text = args.model.name if args.model else f"a made model ({args.architecture})"
    return args


def main(argv: list[str]) -> int:
    args = prepared(arguments(argv))
    for log in args.work.glob("*.log"):
        log.unlink()
    args.model = args.model or make_model(args.lab, args.work / "model.gguf", args.architecture,
                                          "--width", 64, "--layers", 2)
    places = topology.make(PLACES, args.loopback)
    print(f"servers in {places.text}", flush=True)
    try:
        plays, skips = play_all(args, Fleet(args, places))
    finally:
        places.close()
    command = "make fleet-test" + (" SHORT=1" if args.short else "")
    page = markdown(plays, skips, command, places.text, args)
    (args.work / "result.md").write_text(page)
    (args.work / "result.json").write_text(json.dumps(
        {"command": command, "places": places.text, "model": args.model_text,
         "seed": args.seed, "clients": args.clients, "skipped": skips,
         "plays": [asdict(play) for play in plays]}, indent=1) + "\n")
    print(f"written: {args.work / 'result.md'}, {args.work / 'result.json'}")
    misses = [f"{title(play)}: {miss}" for play in plays for miss in play.misses()]
    for miss in misses:
        print(f"fleet-test: {miss}", file=sys.stderr)
    return 1 if misses else 0
