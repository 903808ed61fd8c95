"""Which runs docs/policies.md is made of."""

from dataclasses import dataclass, field
from functools import partial

# Name of the file without its ending, and where it comes from.
TRACES = {
    "claude-code": "355 sessions of a coding agent, from github.com/callanjfox/kv-cache-tester "
                   "(Apache-2.0), a session a line with its blocks as ranges",
    "tau-airline": "100 dialogues of an agent with tools, from "
                   "github.com/sierra-research/tau-bench (MIT), a dialogue a line as chat messages",
    "mooncake-conversation": "an hour of chat requests, conversation_trace.jsonl of "
                             "github.com/kvcache-ai/Mooncake (Apache-2.0), as it is",
}

EVICTIONS = ["value", "lru", "fifo", "marconi", "closest-pair", "none"]
PLACEMENTS = ["auto", "near-end", "user-turns", "eog", "every-nb", "every-nt", "marconi", "none"]
CLASSES = ["header", "turn", "tool-turn", "prompt", "query", "end", "ladder", "branch", "interval",
           "mark", "reply"]
SHIPPED = ("auto", "value", ())
LLAMA = ("user-turns,near-end", "fifo", ("--ctx-checkpoints", "32"))
NEAR_END = ("near-end", "value", ())

PARTS = ["unlimited", "whole", "evictions", "placements", "tau", "mooncake", "disk"]
CODING_MIB = [4096, 8192, 16384, 32768]
TAU_MIB = [512, 2048, 4096]
MOONCAKE_MIB = [8192, 32768]
FIRST_SESSIONS = 60
# The part "disk" has, for each trace, sizes of the memory, and of the disk beside it (0: none).
DISK_MIB = {"claude-code": [4096, 8192, 16384], "tau-airline": [512, 2048],
            "mooncake-conversation": [8192, 32768]}
DISK_GIB = {"claude-code": [0, 32, 128], "tau-airline": [0, 4, 16],
            "mooncake-conversation": [0, 32, 128]}


@dataclass(frozen=True)
class Setting:
    """All of a run but its policies: runs of one setting may be compared."""
    trace: str
    first: int  # lines of the trace; 0: all
    profile: str
    sessions: int
    slots: int
    ram_mib: int  # -1: no limit
    disk_gib: int = field(default=0, kw_only=True)  # 0: no disk


@dataclass(frozen=True)
class Run(Setting):
    placement: str
    eviction: str
    more: tuple = ()
    bound: bool = False

    @property
    def pair(self) -> tuple:
        return self.placement, self.eviction, self.more

    def flags(self) -> list:
        """As the program takes them, without the trace."""
        return ["--model-profile", self.profile, "--sessions", str(self.sessions),
                "--parallel", str(self.slots), "--ram-mib", str(self.ram_mib),
                *(["--disk-gib", str(self.disk_gib)] if self.disk_gib else []),
                "--placement", self.placement, "--eviction", self.eviction, *self.more,
                *(["--bound"] if self.bound else [])]

    def title(self) -> str:
        part = f", first {self.first}" if self.first else ""
        return (f"{self.trace}{part}, {size_name(self)}, "
                f"{' '.join([self.placement, '+', self.eviction, *self.more])}"
                f"{' and the oracle' if self.bound else ''}")


def memory_name(ram_mib: int) -> str:
    if ram_mib < 0:
        return "no limit"
    return f"{ram_mib // 1024} GiB" if ram_mib % 1024 == 0 else f"{ram_mib} MiB"


def size_name(setting: Setting) -> str:
    """Names the memory, and the disk if there is one."""
    disk = f" + {setting.disk_gib} GiB on disk" if setting.disk_gib else ""
    return memory_name(setting.ram_mib) + disk


def run_of(setting: Setting, pair: tuple) -> Run:
    """A run beside the shipped policies asks for the bound too: once a setting."""
    bound = pair == SHIPPED and setting.ram_mib >= 0
    return Run(**vars(setting), placement=pair[0], eviction=pair[1], more=pair[2], bound=bound)


@dataclass
class Plan:
    settings: dict = field(default_factory=dict)  # of a part: Settings
    pairs: dict = field(default_factory=dict)     # of a part: (placement, eviction, more flags)
    runs: dict = field(default_factory=dict)      # of a part: Runs
    left_out: dict = field(default_factory=dict)  # of a part: why it has no runs

    def add(self, part: str, settings: list, pairs: list):
        self.settings[part], self.pairs[part] = settings, pairs
        self.runs[part] = [run_of(setting, pair) for setting in settings for pair in pairs]


def planned(first: int, all_pairs: bool, help_text: str) -> Plan:
    """`first` lines of each trace, 0 for what each part says."""
    def coding(lines: int, ram_mib: int, **more) -> Setting:
        lines = min(lines or first, first or lines)
        return Setting("claude-code", lines, "qwen3.5-35b-a3b", 8, 4, ram_mib, **more)

    def tau(ram_mib: int, **more) -> Setting:
        return Setting("tau-airline", first, "qwen3.5-4b", 16, 4, ram_mib, **more)

    def mooncake(ram_mib: int, **more) -> Setting:
        return Setting("mooncake-conversation", first, "qwen3.5-35b-a3b", 0, 4, ram_mib, **more)

    def with_disks(trace: str, setting_of) -> list:
        return [setting_of(ram_mib=mib, disk_gib=gib) for mib in DISK_MIB[trace]
                for gib in DISK_GIB[trace]]

    plan = Plan()
    whole = [coding(0, mib) for mib in CODING_MIB]
    some = [coding(FIRST_SESSIONS, mib) for mib in CODING_MIB]
    with_value = [(placement, "value", ()) for placement in PLACEMENTS]
    with_auto = [("auto", eviction, ()) for eviction in EVICTIONS]
    if all_pairs:
        with_auto += [(placement, eviction, ()) for placement in PLACEMENTS
                      for eviction in EVICTIONS if "auto" != placement and "value" != eviction]
    plan.add("unlimited", [coding(0, -1)],
             [SHIPPED, NEAR_END, LLAMA] + [pair for pair in with_value
                                           if pair not in (SHIPPED, NEAR_END)])
    plan.add("whole", whole, [SHIPPED, LLAMA])
    plan.add("evictions", some, with_auto)
    plan.add("placements", some, with_value + [LLAMA])
    plan.add("tau", [tau(mib) for mib in TAU_MIB],
             [SHIPPED, ("auto", "lru", ()), ("auto", "marconi", ()), NEAR_END, LLAMA]
             + [("auto", "value", ("--without", word)) for word in CLASSES])
    plan.add("mooncake", [mooncake(mib) for mib in MOONCAKE_MIB],
             [SHIPPED, ("auto", "lru", ()), ("auto", "marconi", ()), ("marconi", "marconi", ()),
              NEAR_END, LLAMA])
    if "--without" not in help_text or "messages" not in help_text:
        plan.left_out["tau"] = "this program's sim neither reads dialogues nor knows --without"
        plan.runs["tau"] = []
    disks = with_disks("claude-code", partial(coding, 0))
    if "tau" not in plan.left_out:
        disks += with_disks("tau-airline", tau)
    plan.add("disk", disks + with_disks("mooncake-conversation", mooncake), [SHIPPED])
    return plan
