"""Which runs docs/fleet_simulation.md is made of."""

from dataclasses import dataclass, field

FRONTS = ["hash", "prefix", "random", "round-robin"]
PARTS = ["fronts", "scale", "remote", "balance"]
CLAUDE, MOONCAKE = "claude-code", "mooncake-conversation"
# Flags of each server; sessions side by side are so many a server, where the trace has no times.
SERVER = {CLAUDE: ("--ram-mib", "16384"), MOONCAKE: ("--ram-mib", "32768")}
WITH_DISK = ("--disk-gib", "256")
SESSIONS = {CLAUDE: 8, MOONCAKE: 0}
# Four servers of this speed could not serve Mooncake's hour in an hour.
STRETCH = {CLAUDE: 1, MOONCAKE: 2}
PROFILE = ("--model-profile", "qwen3.5-35b-a3b", "--prefill-tokens-per-s", "6000")
SMALL, MIDDLE, LARGE = 4, 64, 1000
CELL = 63  # 1,000 servers are 16 cells of 63 at most
CELLS_PLAYED = 1


@dataclass(frozen=True)
class Run:
    trace: str
    servers: int
    front: str
    more: tuple = ()
    first: int = 0  # lines of the trace; 0: all

    def copies(self) -> int:
        """A copy of the trace for four servers."""
        return max(1, self.servers // SMALL)

    def flags(self) -> list:
        """As the program takes them, without the trace."""
        return [*PROFILE, "--sessions", str(SESSIONS[self.trace] * self.servers),
                *SERVER[self.trace], "--servers", str(self.servers), "--front", self.front,
                "--copies", str(self.copies()), "--stretch", str(STRETCH[self.trace]), *self.more]

    def title(self) -> str:
        return " ".join([self.trace, str(self.servers), self.front, *self.more])


@dataclass
class Plan:
    runs: dict = field(default_factory=dict)  # of a part: Runs

    def all(self, wanted: list) -> list:
        return list(dict.fromkeys(run for part in wanted for run in self.runs[part]))


def cells(servers: int) -> tuple:
    if servers < LARGE:
        return ()
    return ("--cell-servers", str(CELL), "--cells-played", str(CELLS_PLAYED))


def scale_fronts(servers: int) -> list:
    return ["hash", "prefix", "round-robin"] if servers == SMALL else ["hash", "prefix"]


def front_run(trace: str, front: str) -> Run:
    return Run(trace, SMALL, front, ("--one-large",))


def scale_run(trace: str, servers: int, front: str) -> Run:
    return front_run(trace, front) if servers == SMALL else Run(trace, servers, front,
                                                                cells(servers))


def remote_run(trace: str, front: str, remote: bool, lost: bool) -> Run:
    more = WITH_DISK + (("--remote",) if remote else ()) + (("--lose-server",) if lost else ())
    return Run(trace, SMALL, front, more)


def balance_run(trace: str, points: int, factor: float) -> Run:
    return Run(trace, 16, "hash", ("--ring-points", str(points), "--balance-factor", f"{factor:g}"))


# A front, and whether a server is lost.
REMOTE = [("hash", False), ("hash", True), ("prefix", False), ("prefix", True),
          ("round-robin", False)]
BALANCES = [(16, 0), (16, 3), (16, 1.5), (256, 3)]


def planned(first: int) -> Plan:
    """`first` lines of each trace, 0 for all."""
    plan = Plan()
    traces = [CLAUDE, MOONCAKE]
    plan.runs["fronts"] = [front_run(trace, front) for trace in traces for front in FRONTS]
    plan.runs["scale"] = [scale_run(trace, servers, front) for trace in traces
                          for servers in (SMALL, MIDDLE, LARGE)
                          for front in scale_fronts(servers)]
    plan.runs["remote"] = [remote_run(trace, front, remote, lost) for trace in traces
                           for front, lost in REMOTE for remote in (False, True)]
    plan.runs["balance"] = [balance_run(trace, points, factor) for trace in traces
                            for points, factor in BALANCES]
    if first:
        for part, runs in plan.runs.items():
            plan.runs[part] = [Run(run.trace, run.servers, run.front, run.more, first)
                               for run in runs]
    return plan
