"""Replays traces under every policy and writes docs/policies.md: make policies.

What a run found is kept in build/policies/results.json (runs.py). The exit code is 0 when every run
that the page needs is there.
"""

from dataclasses import replace
from pathlib import Path

from report.plots import Line, LinePlot, left_out

from bench.pages import number, table, write_plot
from bench.settings import ROOT
from bench.sims.policies_plan import (CLASSES, FIRST_SESSIONS, LLAMA, NEAR_END, PARTS, SHIPPED,
                                      TRACES, Plan, memory_name, planned, run_of, size_name)
from bench.sims.runs import SimSettings, do_runs, opened, told

HIT_MIN, SNAPSHOTS_MAX, OVER_MAX, BEHIND_MAX = 96.2, 8.0, 1.15, 0.1
# Hits on claude-code with a disk, by the MiB of the memory and the GiB of the disk.
DISK_HIT_MIN = {(4096, 32): 94.0, (4096, 128): 95.6, (16384, 32): 95.2, (16384, 128): 95.9}
MS, KB, GB, S_PER_MIN = 1e3, 1e3, 1e9, 60

ABOUT = """# What each policy saves

`make policies` replays recorded requests through the scheduler, the cache and the policies
(`cairn-lab sim`, see [traces.md](traces.md)) and writes this page. The traces are not in the
repository: `make policies TRACES=folder` names their folder; without them the command names each
trace and its source. An interrupted run continues where it stopped.

- **Hits** is the share of prompt tokens that needed no prefill, in percent. **Prefilled** is the
  number of the others.
- **The oracle** knows all requests in advance: no cache with the same memory prefills fewer tokens
  ([how](oracle.md)). **Over the oracle** is the ratio of prefilled tokens to the oracle's. It is a
  bound: where it is not exact, perhaps no cache at all reaches it.
- **Snapshots** is the number of checkpoints taken for 10,000 prefilled tokens.
- **Behind** is the number of points of hits by which the default pair, auto and value, is behind
  this one; a negative number means that it is ahead.
- *llama-server's pair* is `--placement user-turns,near-end --ctx-checkpoints 32 --eviction fifo`:
  its rules in this cache, not that program.
"""

ABOUT_DISK = """## Memory and disk

The default pair, auto and value, with a disk beside the memory (`--disk-gib`). What left the memory
for the disk is read when a request needs it, at 2 GB/s, and the request waits for it. No trace may
have fewer hits with a disk than with the same memory alone: see [the goals](#goals).

- **The oracle** may use memory and disk as if both were memory.
- **Over new** is the ratio of prefilled tokens to those that no earlier request has: no cache of
  any size prefills fewer.
- **Written** and **Read** are bytes to and from the disk. **A token** is what is written for each
  prefilled token, to be compared with its KV: snapshots are written too, and what left the disk may
  be written again.
- **Waited** is the time of all requests together, each from its turn until its prompt is prefilled;
  **Reads** is the part of it that the disk takes. **Over the least** is the ratio to the least
  wait: no cache with this memory and disk makes requests wait less, its reads included
  ([how](oracle.md#with-a-disk-the-least-wait)). **Median** and **p99** are of one request.
"""


def name_of(pair: tuple) -> str:
    if pair == LLAMA:
        return "llama-server's pair"
    return " + ".join(pair[:2]) + "".join(f" {word}" for word in pair[2])


class Figures:
    """The results of the runs of a plan, in the form of the page."""

    def __init__(self, results):
        self._results = results

    def raw(self, setting, pair: tuple):
        return self._results.get(run_of(setting, pair))

    def hits(self, setting, pair: tuple):
        raw = self.raw(setting, pair)
        return raw and raw["token_hit_rate"] * 100

    def read(self, setting, pair: tuple):
        raw = self.raw(setting, pair)
        return raw and raw["read_tokens"]

    def snapshots(self, setting, pair: tuple):
        raw = self.raw(setting, pair)
        return raw and raw["checkpoints_per_10k_read_tokens"]

    def oracle_read(self, setting):
        raw = self.raw(setting, SHIPPED)
        # Without a limit nothing is evicted, and the bound is the tokens that are new.
        return raw and raw["unavoidable_tokens" if setting.ram_mib < 0 else "read_tokens_bound"]

    def oracle_kind(self, setting) -> str:
        raw = self.raw(setting, SHIPPED)
        return (raw or {}).get("bound_kind", "")

    def oracle_hits(self, setting):
        raw = self.raw(setting, SHIPPED)
        return raw and (1 - self.oracle_read(setting) / raw["prompt_tokens"]) * 100

    def of(self, setting, name: str):
        """A figure of the shipped policies, by the program's name for it."""
        raw = self.raw(setting, SHIPPED)
        return raw and raw.get(name)

    def ratio(self, setting, name: str, by: str):
        value, other = self.of(setting, name), self.of(setting, by)
        return value / other if value is not None and other else None

    def over(self, setting, pair: tuple):
        read, oracle = self.read(setting, pair), self.oracle_read(setting)
        return read / oracle if read is not None and oracle else None

    def behind(self, setting, pair: tuple):
        shipped, other = self.hits(setting, SHIPPED), self.hits(setting, pair)
        return other - shipped if shipped is not None and other is not None else None

    def row(self, setting, pair: tuple) -> list:
        return [name_of(pair), number(self.hits(setting, pair), 2),
                number(self.read(setting, pair), 0), number(self.over(setting, pair), 3),
                number(self.snapshots(setting, pair), 2),
                "" if pair == SHIPPED else number(self.behind(setting, pair), 2)]

    def worst(self, setting, pairs: list):
        """(points, pair) of the pair that the shipped one is furthest behind, or None."""
        found = [(self.behind(setting, pair), pair) for pair in pairs if pair != SHIPPED
                 and self.behind(setting, pair) is not None]
        return max(found, key=lambda each: each[0]) if found else None


def one_setting(figures: Figures, setting, pairs: list) -> str:
    rows = [figures.row(setting, pair) for pair in pairs]
    kind = figures.oracle_kind(setting)
    rows.append([f"the oracle{f' ({kind})' if kind else ''}",
                 number(figures.oracle_hits(setting), 2), number(figures.oracle_read(setting), 0),
                 "–" if figures.oracle_read(setting) is None else "1", "", ""])
    return table(["", "Hits", "Prefilled", "Over the oracle", "Snapshots", "Behind"], rows)


def budgets(figures: Figures, settings: list, pairs: list) -> str:
    """A line a pair and a column a budget, then all figures of each budget."""
    head = [""] + [memory_name(setting.ram_mib) for setting in settings]
    rows = [[name_of(pair)] + [number(figures.hits(setting, pair), 2) for setting in settings]
            for pair in pairs]
    rows.append(["the oracle"] + [number(figures.oracle_hits(setting), 2)
                                  for setting in settings])
    text = table(head, rows)
    for setting in settings:
        text += f"\n**{memory_name(setting.ram_mib)}**\n\n" + one_setting(figures, setting, pairs)
    return text


def plot_lines(folder: Path, name: str, title: str, columns: list, lines: list) -> str:
    picture = LinePlot(f"Share of prompt tokens that need no prefill: {title}",
                       "hits, % of prompt tokens", "RAM for checkpoints", columns, lines)
    if not write_plot(folder / f"{name}.svg", picture):
        return ""
    gone = left_out(lines)
    note = ""
    if gone:
        note = f"\nLeft out of the plot, with less than half the hits: {', '.join(gone)}.\n"
    return f"![{title}]({folder.name}/{name}.svg)\n{note}\n"


def plot(figures: Figures, folder: Path, name: str, title: str, settings, pairs: list) -> str:
    lines = [Line(name_of(pair), [figures.hits(setting, pair) for setting in settings])
             for pair in pairs]
    lines.append(Line("the oracle", [figures.oracle_hits(setting) for setting in settings], True))
    columns = [memory_name(setting.ram_mib) for setting in settings]
    return plot_lines(folder, name, title, columns, lines)


def met(good) -> str:
    return "not measured" if good is None else "met" if good else "**not met**"


def asked_for(figures: Figures, plan: Plan) -> str:
    setting = plan.settings["unlimited"][0]
    hits, snapshots = figures.hits(setting, SHIPPED), figures.snapshots(setting, SHIPPED)
    rows = [["No limit: hits", f"at least {HIT_MIN} %", number(hits, 2),
             met(None if hits is None else hits >= HIT_MIN)],
            ["No limit: snapshots for 10,000 prefilled tokens", f"at most {SNAPSHOTS_MAX:g}",
             number(snapshots, 2), met(None if snapshots is None else snapshots <= SNAPSHOTS_MAX)]]
    for setting in plan.settings["whole"]:
        over = figures.over(setting, SHIPPED)
        rows.append([f"{memory_name(setting.ram_mib)}: prefilled over the oracle's",
                     f"at most {OVER_MAX}", number(over, 3),
                     met(None if over is None else over <= OVER_MAX)])
    for part, where in (("whole", "all sessions"), ("evictions", "first sessions"),
                        ("placements", "first sessions")):
        for setting in plan.settings[part]:
            worst = figures.worst(setting, plan.pairs[part])
            rows.append([f"{memory_name(setting.ram_mib)}, {where}, {part}: points behind "
                         f"{name_of(worst[1]) if worst else 'another pair'}",
                         f"at most {BEHIND_MAX}", number(worst and worst[0], 2),
                         met(None if worst is None else worst[0] <= BEHIND_MAX)])
    rows += disk_goals(figures, plan.settings["disk"])
    return table(["auto + value, on claude-code where no trace is named", "Goal", "Measured", ""],
                 rows)


def below_alone(figures: Figures, setting):
    """How many points of hits the disk costs, or None."""
    hits = figures.hits(setting, SHIPPED)
    alone = figures.hits(replace(setting, disk_gib=0), SHIPPED)
    return alone - hits if None not in (hits, alone) else None


def disk_goals(figures: Figures, settings: list) -> list:
    rows = []
    for setting in of_trace(settings, "claude-code"):
        least = DISK_HIT_MIN.get((setting.ram_mib, setting.disk_gib))
        if least is None:
            continue
        hits = figures.hits(setting, SHIPPED)
        rows.append([f"{size_name(setting)}: hits", f"at least {least} %", number(hits, 2),
                     met(None if hits is None else hits >= least)])
    for trace in traces_of(settings):
        found = [below_alone(figures, setting) for setting in of_trace(settings, trace)
                 if setting.disk_gib]
        worst = max((below for below in found if below is not None), default=None)
        rows.append([f"{trace}, every disk: points below the same memory without one",
                     "at most 0", number(worst, 3), met(None if worst is None else worst <= 0)])
    return rows


def without(figures: Figures, plan: Plan) -> str:
    settings = plan.settings["tau"]
    rows = []
    for word in CLASSES:
        row = [word]
        for setting in settings:
            behind = figures.behind(setting, ("auto", "value", ("--without", word)))
            row.append(number(behind, 2))
        rows.append(row)
    return table(["Without"] + [memory_name(setting.ram_mib) for setting in settings], rows)


def lines_of(setting) -> str:
    return f"the first {setting.first} lines" if setting.first else "all"


def played(setting) -> str:
    """How the requests of a trace come."""
    side_by_side = (f"{setting.sessions} sessions side by side" if setting.sessions
                    else "at the times of the trace")
    return (f"{setting.profile}, {side_by_side}, {setting.slots} slots, {lines_of(setting)} of the "
            "trace")


def coding_parts(figures: Figures, plan: Plan, folder: Path) -> list:
    some = plan.settings["evictions"]
    on_some = ("This part uses the first {} of 355 sessions, because it has many runs. Do not "
               "compare its figures with those of the whole trace.\n\n"
               ).format(some[0].first or FIRST_SESSIONS)
    trace = lines_of(plan.settings["unlimited"][0])
    parts = ["## A coding agent: claude-code, no limit\n\n"
             f"qwen3.5-35b-a3b, 8 sessions side by side, 4 slots, {trace} of the trace. No "
             "checkpoint is evicted, so the eviction policy does not matter. "
             f"{name_of(NEAR_END)} takes one at the end of the prompt alone.\n\n"
             + one_setting(figures, plan.settings["unlimited"][0], plan.pairs["unlimited"])]
    for part, title, text in (
            ("whole", "claude-code, budgets", ""),
            ("evictions", f"claude-code, first {some[0].first} sessions, every eviction", on_some),
            ("placements", f"claude-code, first {some[0].first} sessions, every placement",
             on_some)):
        settings, pairs = plan.settings[part], plan.pairs[part]
        # Three lines are read as well in their table.
        picture = plot(figures, folder, part, title, settings, pairs) if part != "whole" else ""
        parts.append(f"## {title}\n\n{text}{picture}{budgets(figures, settings, pairs)}")
    return parts


def other_parts(figures: Figures, plan: Plan, folder: Path) -> list:
    parts = []
    if "tau" in plan.left_out:
        parts.append(f"## An agent with tools: tau-airline\n\nNot measured: "
                     f"{plan.left_out['tau']}.\n")
    else:
        pairs = [pair for pair in plan.pairs["tau"] if "--without" not in pair[2]]
        parts.append("## An agent with tools: tau-airline\n\nqwen3.5-4b, 16 dialogues side by "
                     "side, 4 slots; the tokens are synthetic.\n\n"
                     + plot(figures, folder, "tau", "tau-airline", plan.settings["tau"], pairs)
                     + budgets(figures, plan.settings["tau"], pairs)
                     + "\n### The value of each class of checkpoints\n\nThe table shows the "
                     "points of hits that auto + value gains without a class; a negative number "
                     "is a loss. `reply` also means that no slot ends behind an answer, `end` "
                     "that no prompt's end is kept with its logits.\n\n" + without(figures, plan))
    parts.append("## Chats by the hour: mooncake-conversation\n\nqwen3.5-35b-a3b, at the times of "
                 "the trace, 4 slots.\n\n"
                 + budgets(figures, plan.settings["mooncake"], plan.pairs["mooncake"]))
    return parts


def traces_of(settings: list) -> list:
    return list(dict.fromkeys(setting.trace for setting in settings))


def of_trace(settings: list, trace: str) -> list:
    return [setting for setting in settings if setting.trace == trace]


def scaled(value, by: float, digits: int) -> str:
    return number(None if value is None else value / by, digits)


def saved_row(figures: Figures, setting) -> list:
    kind = figures.oracle_kind(setting)
    oracle = number(figures.oracle_hits(setting), 2) + (f" ({kind})" if kind else "")
    return [size_name(setting), number(figures.hits(setting, SHIPPED), 2), oracle,
            number(figures.read(setting, SHIPPED), 0),
            number(figures.ratio(setting, "read_tokens", "unavoidable_tokens"), 3),
            number(figures.over(setting, SHIPPED), 3)]


def moved_row(figures: Figures, setting) -> list:
    moved = ["", "", "", ""]
    if setting.disk_gib:
        moved = [scaled(figures.of(setting, "disk_written_bytes"), GB, 1),
                 scaled(figures.ratio(setting, "disk_written_bytes", "read_tokens"), KB, 1),
                 scaled(figures.of(setting, "disk_read_bytes"), GB, 1),
                 scaled(figures.of(setting, "disk_read_ms"), MS, 0)]
    return [size_name(setting), *moved, scaled(figures.of(setting, "wait_ms"), MS, 0),
            number(figures.ratio(setting, "wait_ms", "wait_ms_bound"), 3),
            number(figures.of(setting, "wait_ms_median"), 0),
            number(figures.of(setting, "wait_ms_p99"), 0)]


def disk_plot(figures: Figures, folder: Path, settings: list) -> str:
    """A line a disk and its oracle, over the sizes of the memory."""
    lines = []
    for oracle in (False, True):
        for gib in dict.fromkeys(setting.disk_gib for setting in settings):
            name = f"{gib} GiB on disk" if gib else "no disk"
            hits = [figures.oracle_hits(each) if oracle else figures.hits(each, SHIPPED)
                    for each in settings if each.disk_gib == gib]
            lines.append(Line(f"the oracle, {name}" if oracle else name, hits, oracle))
    columns = list(dict.fromkeys(memory_name(setting.ram_mib) for setting in settings))
    return plot_lines(folder, "disk", "claude-code, memory and disk", columns, lines)


def disk_part(figures: Figures, plan: Plan, folder: Path) -> str:
    text = ABOUT_DISK
    for trace in traces_of(plan.settings["disk"]):
        settings = of_trace(plan.settings["disk"], trace)
        kv = scaled(figures.of(settings[0], "kv_bytes_per_token"), KB, 1)
        text += f"\n### {trace}\n\n{played(settings[0])}. The KV of a token is {kv} KB.\n\n"
        if trace == "claude-code":
            text += disk_plot(figures, folder, settings)
        text += table(["", "Hits", "The oracle's hits", "Prefilled", "Over new",
                       "Over the oracle"], [saved_row(figures, each) for each in settings])
        text += "\n" + table(["", "Written, GB", "A token, KB", "Read, GB", "Reads, s",
                              "Waited, s", "Over the least", "Median, ms", "p99, ms"],
                             [moved_row(figures, each) for each in settings])
    return text


def write_page(page: Path, plan: Plan, results, tried: Path) -> int:
    """Returns how many runs the page lacks."""
    figures, folder = Figures(results), page.parent / "policies"
    page.parent.mkdir(parents=True, exist_ok=True)
    runs = {run for part in plan.runs.values() for run in part}
    missing = sum(results.get(run) is None for run in runs)
    minutes = sum(results.seconds(run) for run in runs) / S_PER_MIN
    parts = [ABOUT, f"The {len(runs) - missing} runs of this page took {minutes:.0f} minutes in "
                    "all, each on one core.\n"]
    if missing:
        parts.append(f"**Not complete: {missing} of {len(runs)} runs are missing (–).**\n")
    parts.append("## Goals\n\n" + asked_for(figures, plan))
    parts += coding_parts(figures, plan, folder) + other_parts(figures, plan, folder)
    parts.append(disk_part(figures, plan, folder))
    if tried.is_file():
        parts.append(tried.read_text())
    page.write_text("\n".join(parts))
    return missing


def main(argv: list[str]) -> int:
    settings = SimSettings("policies", __doc__, argv, "policies.md", PARTS)
    settings.flag("all-pairs", "every placement with every eviction, not only with the defaults")
    args = settings.parsed()
    program, traces, results = opened(args, TRACES)
    plan = planned(args.first, args.all_pairs, program.help)
    runs = dict.fromkeys(run for part in args.only for run in plan.runs[part])
    failed = do_runs(args, program, traces, results, list(runs))
    missing = write_page(args.out, plan, results, ROOT / "docs" / "policies_tried.md")
    for part, reason in plan.left_out.items():
        print(f"left out {part}: {reason}")
    return told(args, failed, missing)
