"""Writes docs/tiers.md from the figures of tiers.py."""

import statistics

from report.text import count_text, ms_text, ratio_text

from bench.machine import machine_text
from bench.pages import counted, item, paragraph, percentile, table

WARM, DISK = "memory", "disk"
PREFILLED_MAX, GAP_MAX = 1.05, 1.3  # asked of the disk tier
LAST = 0.99
NONE = "-"

ABOUT = """Agents that go on in turn, on a server whose memory holds two of their conversations and
whose disk holds all: how many tokens are prefilled twice, how long a client waits for the first
token, how much is written, and how that disturbs a long answer. `make bench-tiers` writes this
page; every section is from one run of it. [operations.md](operations.md) explains the budgets of
memory and disk."""

PLAYED = """Each conversation begins with a long prompt that no other one has. Then come rounds. In
a round every conversation goes on by one turn, in an order of the seed; the clients take the next
one each, as soon as their last answer has ended, without a pause. A turn is the whole history with
its answers, and one new message. There are more clients than slots, and more conversations than
both, so nearly every turn finds its conversation in no slot."""

COUNTED = """*Prefilled ÷ new* is over all turns behind the first round: the tokens that the server
prefilled, by its own counts, over those that are in no earlier prompt and no earlier answer, which
no server can avoid. Cairn's tokens include what it prefetched between requests. *First token* is
the client's time from the request to the first text, the wait for a slot included; *warm* is Cairn
with memory for all, in the same run. Figures are medians over the seeds, and their ratios are of
the same seed; only the 99th percentile of first tokens is that of all seeds together. *Written ÷
distinct* is Cairn's metric `cairn_disk_written_bytes_total`, once nothing more is written after
these turns, over the KV of all distinct tokens and one snapshot of each conversation. *Gap p99* is
the 99th percentile of the times between two pieces of a long answer, which one more client reads
beside further rounds; it takes one of the slots. Answers are greedy, and have all the same
length."""

FLAGS = """*Memory for two* is a `--cache-ram` of two whole conversations, each with one snapshot,
in whole MiB. What lies in the slots comes on top, in every server. llama-server has no disk tier;
its best flags are `--checkpoint-min-step 0 --ctx-checkpoints 256`, and slots of a stream each,
which is its default. Never do two servers run at once; each begins with an empty cache."""

HEAD = ["server", "prefilled ÷ new", "first token", "÷ warm", "first token, p99", "÷ warm",
        "written ÷ distinct", "gap p99", "÷ warm"]


def prefilled_ratio(run: dict) -> float:
    return (run["prefilled"] + run["prefetched"]) / run["new"]


def written_ratio(run: dict) -> float:
    return run["written"] / run["distinct"]


def first_median(run: dict) -> float:
    return statistics.median(run["first_ms"])


def gap_p99(run: dict) -> float:
    return percentile(run["gaps_ms"], LAST)


class Model:
    """The figures of one model. Lists have a figure for each seed."""

    def __init__(self, results: dict):
        self.results = results
        self.runs = results["runs"]

    def over_warm(self, name: str, figure) -> list:
        return [figure(run) / figure(warm)
                for run, warm in zip(self.runs[name], self.runs[WARM])]

    def firsts(self, name: str) -> list:
        """The first tokens of all turns of all seeds, of which a seed alone has too few."""
        return [ms for run in self.runs[name] for ms in run["first_ms"]]

    def first_p99_over_warm(self, name: str) -> float:
        return percentile(self.firsts(name), LAST) / percentile(self.firsts(WARM), LAST)

    def prefilled(self, name: str) -> list:
        return [prefilled_ratio(run) for run in self.runs[name]]

    def has(self, name: str, key: str) -> bool:
        return all(key in run for run in self.runs[name])


def median_text(figures: list) -> str:
    return ratio_text(statistics.median(figures))


def range_text(ratios: list) -> str:
    """"**1.04** (1.03 to 1.06)"."""
    low, high = (ratio_text(end(ratios)) for end in (min, max))
    between = f" ({low} to {high})" if low != high else ""
    return f"**{median_text(ratios)}**{between}"


def row_of(model: Model, name: str) -> list:
    runs, written, gaps = model.runs[name], NONE, [NONE, NONE]
    if model.has(name, "written"):
        written = median_text(list(map(written_ratio, runs)))
    if model.has(name, "gaps_ms"):
        gaps = [ms_text(statistics.median(map(gap_p99, runs))),
                median_text(model.over_warm(name, gap_p99))]
    return [model.results["titles"][name], median_text(model.prefilled(name)),
            ms_text(statistics.median(map(first_median, runs))),
            median_text(model.over_warm(name, first_median)),
            ms_text(percentile(model.firsts(name), LAST)),
            ratio_text(model.first_p99_over_warm(name)), written, *gaps]


def asked_lines(model: Model) -> list:
    if DISK not in model.runs:
        return []
    texts = [f"Tokens prefilled for each new one, with memory for two and a disk for all: "
             f"{range_text(model.prefilled(DISK))}; at most {PREFILLED_MAX} is asked.",
             f"First token, over a warm one: {range_text(model.over_warm(DISK, first_median))}; "
             f"the 99th percentile **{ratio_text(model.first_p99_over_warm(DISK))}**.",
             f"Bytes written, over distinct ones: "
             f"{range_text(list(map(written_ratio, model.runs[DISK])))}."]
    if model.has(DISK, "gaps_ms"):
        texts.append(f"The 99th percentile of the gaps of a long answer, over a warm one: "
                     f"{range_text(model.over_warm(DISK, gap_p99))}; at most {GAP_MAX} is asked.")
    return [*map(item, texts), ""]


def played_text(model: Model) -> str:
    shape, sizes = model.results["shape"], model.results["sizes"]
    two = [mib for name, mib in model.results["memory_mib"].items() if name in ("two", "disk")]
    kind = ("a small one of random weights that `cairn-lab model make qwen35` made, with one token "
            "a byte" if model.results["made"] else f"the file `{model.results['model']}.gguf`")
    memory = f" Memory for two is {two[0]} MiB." if two else ""
    return (f"The model is {kind}; a token has {count_text(sizes['kv_bytes_per_token'])} bytes "
            f"of KV, and a snapshot {count_text(sizes['snapshot_bytes'])}. "
            f"{shape['conversations']} conversations begin with some "
            f"{count_text(shape['tokens'])} tokens and go on in "
            f"{counted(shape['rounds'], 'round')}, by some {shape['new_tokens']} tokens and an "
            f"answer of {shape['answer_tokens']} each; "
            f"then {counted(shape['beside'], 'round')} beside a long answer. "
            f"{shape['clients']} clients, {shape['slots']} slots.{memory}")


def model_section(model: Model) -> list:
    results = model.results
    rows, seen = [row_of(model, name) for name in model.runs], results["facts"]
    return [f"## {'A made ' if results['made'] else ''}{results['model']}", "",
            *asked_lines(model), table(HEAD, rows), paragraph(played_text(model)),
            paragraph(machine_text(seen, f", for {counted(seen['repeat'], 'seed')}")),
            "```", results["call"], "```", "",
            "The servers, each with a free port:", "", "```", *results["commands"], "```", ""]


def page(results: dict) -> str:
    models = [Model(each) for each in results["models"].values()]
    models.sort(key=lambda model: not model.results["made"])
    sections = [line for model in models for line in model_section(model)]
    return "\n".join([
        "# Many conversations on little memory", "", paragraph(ABOUT),
        *(sections or ["No run has been written here yet.", ""]),
        "## How it was measured", "", *map(paragraph, (PLAYED, COUNTED, FLAGS))]).rstrip() + "\n"
