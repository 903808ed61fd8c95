"""Writes docs/media_bench.md from the figures of media.py."""

import statistics
from dataclasses import dataclass

from report.summary import ALLOWED_TOKENS, geometric_mean
from report.text import SAME_RATIO, count_text, ratio_text, sooner_text

from bench.machine import machine_text
from bench.pages import item, paragraph, table

OURS = "Cairn"

ABOUT = """How many tokens of prompts with pictures Cairn and Debian's llama-server prefill, how
many pictures they encode, and how long a client waits for the first token. `make bench-media`
writes this page; every figure is from one run of it. [media.md](media.md) explains how pictures are
cached."""

SHOWS = {
    "conversation": """A conversation of six turns. The messages of turns 1 and 3 end with a
    picture. Then the last question is asked again with another text behind the pictures (turn 4),
    between them (turn 2) and before them (turn 1), each time with the second half of one message
    changed, and finally in its first form.""",
    "restart": """The same kind of conversation. After five turns the server is ended and started
    again; then come the sixth turn, and its question once more with another text between the
    pictures. The time that a start takes is in no figure. Cairn keeps its prefix cache in
    `--cache-dir`. llama-server has no disk cache by itself and starts cold; a slot that was saved
    by hand could be restored ([resume.md](resume.md)). The lower bound is that of a server that
    loses nothing.""",
    "questions": """Each request is a picture with a question behind it, and nothing before it.
    Nothing but the question changes. In llama.cpp's issue
    [#26994](https://github.com/ggml-org/llama.cpp/issues/26994) such a picture is prefilled for
    every question, on hybrid models.""",
    "moved": """A conversation of text alone, from which a client deletes early turns: the later
    text is the same, at other positions. `--cache-reuse 64` moves its KV. In llama.cpp's issue
    [#21133](https://github.com/ggml-org/llama.cpp/issues/21133) a loaded projector switches that
    off for all prompts. All three servers have the flag, and the last one no projector. Only models
    with plain attention allow it. Moved KV was not computed for its new position, so less than the
    lower bound may be prefilled, and answers may change.""",
}

MEASURED = """For each model and show, one server after the other was started, played and ended;
never did two run at once. All have the same model, projector, context, threads, batches, limit for
cached RAM and one slot (`--parallel 1`), and answer greedily. llama-server plays twice: as it is
set up by default, and with its best flags: `--checkpoint-min-step 0 --ctx-checkpoints 256`,
`--slot-prompt-similarity 0`, with which the state of a slot goes to its RAM cache before every
request, and `--swa-full` for the sliding window. Every show begins with an empty cache."""

TEXTS = """The models are made to answer the texts that the history has, so all servers get the same
prompts: llama-server by a grammar in the request, Cairn by `--script`. The *lower bound* is what no
server can avoid: each prompt without the longest prefix that an earlier prompt with its answer had,
and at least its last token; a picture is shared whole or not at all, and encoded once. It is
counted on token IDs, by Cairn's `/apply-template` and `/tokenize`. Where Cairn has kept the logits
at a prompt's end, it prefills nothing, one token less than the bound. Tokens are those of one
round, the median where rounds differ. Times are the client's, from the request to the first text;
their ratios are Cairn's over llama-server's, request by request in the same round, as geometric
means. Below 1, Cairn is sooner."""

MODELS = """The models and projectors are small ones of random weights that `cairn-lab model make`
and `cairn-lab model make-projector` made, with one token a byte. How many tokens are prefilled does
not depend on the weights. Times do, and encoding most of all: here it takes milliseconds, with a
real projector on a processor seconds, so a picture that is encoded again costs more there than
these ratios say."""

MAMBA2 = """No projector is made for mamba2; libmtmd takes any that has the model's width. It is
here because it is purely recurrent."""


@dataclass
class Side:
    """A server's figures in a phase of a show."""
    rounds: list  # for each timed round, the figures of its requests
    encoded: int | None = None

    def prefilled(self) -> float:
        return statistics.median(sum(ask["prefilled"] for ask in asks) for asks in self.rounds)

    def sent(self) -> int:
        return sum(ask["sent"] for ask in self.rounds[0])

    def times_over(self, other: "Side") -> float:
        """The time to the first token over that of another server."""
        return geometric_mean([ask["first_token_ms"] / their["first_token_ms"]
                               for asks, theirs in zip(self.rounds, other.rounds)
                               for ask, their in zip(asks, theirs)])


@dataclass
class Phase:
    """A row of the page: some requests of a show on one model. `bounds`: see media_shows."""
    model: str
    show: dict
    name: str
    bounds: list
    sides: dict  # Side by the server's name, Cairn first

    def ours(self) -> Side:
        return self.sides[OURS]

    def theirs(self) -> dict:
        return {name: side for name, side in self.sides.items() if name != OURS}

    def lower_bound(self) -> int:
        return sum(bound["prefilled"] for bound in self.bounds)

    def new_pictures(self) -> int:
        return sum(bound["encoded"] for bound in self.bounds)

    def is_more_than(self, other: Side) -> bool:
        return self.ours().prefilled() > other.prefilled() + ALLOWED_TOKENS * len(self.bounds)


def side_of(runs: list, at: list) -> Side:
    """The requests at the given places. The first of several rounds is not timed."""
    asks = [[run["asks"][i] for i in at] for run in runs]
    encoded = [ask["encoded"] for ask in asks[0]]
    known = all(number is not None for number in encoded)
    return Side(asks[1:] or asks, sum(encoded) if known else None)


def phase_of(model: dict, show: dict, name: str, at: list) -> Phase:
    bounds = model["bounds"]["shows"][show["name"]]
    sides = {who: side_of(runs, at) for who, runs in show["runs"].items()}
    return Phase(model["recipe"]["architecture"], show, name, [bounds[i] for i in at], sides)


def phases_of(model: dict, show: dict) -> list:
    places = {}
    for i, ask in enumerate(show["runs"][OURS][0]["asks"]):
        places.setdefault(ask["phase"], []).append(i)
    return [phase_of(model, show, name, at) for name, at in places.items()]


def whole_of(model: dict, show: dict) -> Phase:
    count = len(show["runs"][OURS][0]["asks"])
    return phase_of(model, show, "all of it", list(range(count)))


class Figures:
    """All rows of the page."""

    def __init__(self, results: dict):
        self.facts = results["facts"]
        self.models = results["models"]
        played = [(model, show) for model in self.models for show in model["shows"]]
        self.wholes = [whole_of(model, show) for model, show in played]
        self.phases = [phase for model, show in played for phase in phases_of(model, show)]

    def of_show(self, name: str) -> list:
        return [phase for phase in self.phases if phase.show["name"] == name]

    def whole(self, name: str) -> list:
        return [phase for phase in self.wholes if phase.show["name"] == name]


def figures_row(phase: Phase) -> list:
    sides = [count_text(side.prefilled()) for side in phase.sides.values()]
    ratios = [ratio_text(phase.ours().times_over(side)) for side in phase.theirs().values()]
    return [count_text(len(phase.bounds)), count_text(phase.ours().sent()),
            count_text(phase.lower_bound()), *sides, *ratios]


def figures_head(phase: Phase) -> list:
    ratios = [f"first token, {OURS} ÷ {name}" for name in phase.theirs()]
    return ["requests", "sent", "lower bound", *phase.sides, *ratios]


def show_section(figures: Figures, name: str) -> str:
    phases = figures.of_show(name)
    if not phases:
        return ""
    rows = [[phase.model, phase.name, *figures_row(phase)] for phase in phases]
    return "\n".join([f"## {phases[0].show['title']}", "", paragraph(SHOWS[name]),
                      table(["model", "part", *figures_head(phases[0])], rows, 2)])


def short_section(figures: Figures) -> str:
    wholes = [whole for name in SHOWS if name != "moved" for whole in figures.whole(name)]
    rows = [[whole.show["title"], whole.model, *figures_row(whole)] for whole in wholes]
    lines = []
    for name in wholes[0].theirs():
        pairs = [(phase, phase.theirs()[name]) for phase in figures.phases
                 if name in phase.theirs() and phase.show["name"] != "moved"]
        fewer = sum(not phase.is_more_than(side) for phase, side in pairs)
        ratio = geometric_mean([whole.ours().times_over(whole.theirs()[name]) for whole in wholes])
        lines.append(item(
            f"Beside {name}: in {fewer} of {len(pairs)} parts Cairn prefilled at most "
            f"{ALLOWED_TOKENS} tokens a request more. Time to the first token, Cairn's over its: "
            f"**{ratio_text(ratio)}**, the geometric mean over {len(wholes)} shows; "
            f"{sooner_text(ratio)}."))
    return "\n".join(["## In short", "", *lines, "", "Tokens prefilled, and times:", "",
                      table(["show", "model", *figures_head(wholes[0])], rows, 2)])


def encoded_section(figures: Figures) -> str:
    rows, known = [], True
    phases = [phase for name in SHOWS if name != "moved" for phase in figures.of_show(name)]
    for phase in phases:
        counts = [phase.new_pictures(), *(side.encoded for side in phase.sides.values())]
        known = known and None not in counts
        if any(counts):
            texts = ["-" if count is None else count_text(count) for count in counts]
            rows.append([phase.show["title"], phase.model, phase.name, *texts])
    about = """How often a picture was encoded: once, as long as its rows are kept. Parts in which
    nobody encoded anything are left out. Cairn's number is its metric `cairn_media_encoded_total`,
    llama-server's is read from its log (`-lv 4`)."""
    if not known:
        about += " \"-\": this version's log does not say when it encodes."
    head = ["show", "model", "part", "lower bound", *phases[0].sides]
    return "\n".join(["## Pictures encoded", "", paragraph(about), table(head, rows, 3)])


def behind_section(figures: Figures) -> str:
    rows = []
    for phase in figures.phases:
        for name, side in phase.theirs().items():
            ratio = phase.ours().times_over(side)
            if not phase.is_more_than(side) and ratio < SAME_RATIO:
                continue
            tokens = [count_text(each.prefilled()) for each in (phase.ours(), side)]
            if phase.is_more_than(side):
                tokens[0] = f"**{tokens[0]}**"
            time = ratio_text(ratio)
            rows.append([phase.show["title"], phase.model, phase.name, name, *tokens,
                         f"**{time}**" if ratio >= SAME_RATIO else time])
    about = f"""Parts in which Cairn prefilled more than the other server and {ALLOWED_TOKENS}
    tokens a request, or in which its first tokens came later, by {SAME_RATIO - 1:.0%} or more."""
    if not rows:
        return "\n".join(["## Where Cairn is behind", "", paragraph(about), "None.", ""])
    head = ["show", "model", "part", "beside", "Cairn prefilled", "it prefilled", "first token"]
    return "\n".join(["## Where Cairn is behind", "", paragraph(about), table(head, rows, 4)])


def lengths_text(figures: Figures) -> str:
    """Whether all servers count a prompt alike. Cairn's lower bounds hold for others only then."""
    odd = {}
    for whole in figures.wholes:
        sent = [bound["sent"] for bound in whole.bounds]
        for name, side in whole.sides.items():
            odd[name] = odd.get(name, 0) + sum(
                [ask["sent"] for ask in asks] != sent for asks in side.rounds)
    names = [f"{name} in {count} plays" for name, count in odd.items() if count]
    if names:
        return ("Prompts were not of the same length everywhere, so the lower bound is not exact: "
                + ", ".join(names) + " counted other lengths than the lower bound's.")
    return "All servers counted the same length of every prompt."


def prefetched_text(figures: Figures) -> str:
    runs = [run for model in figures.models for show in model["shows"]
            for run in show["runs"][OURS]]
    most = max(run["prefetched"] for run in runs)
    if most == 0:
        return "Cairn prefetched nothing between requests."
    return (f"Between requests Cairn prefetched up to {count_text(most)} tokens a show, for which "
            "no client waited; they are not in the tables.")


def measured_section(figures: Figures) -> str:
    facts = figures.facts
    rounds = "one round" if facts["repeat"] == 1 else f"{facts['repeat']} timed rounds"
    call = "make bench-media QUICK=1" if facts["quick"] else (
        f"make bench-media REPEAT={facts['repeat']} THREADS={facts['threads']} "
        f"CONTEXT={facts['context']} RAM_MIB={facts['ram_mib']} \\\n"
        f"  ONLY={','.join(model['recipe']['architecture'] for model in figures.models)}")
    rows = [[model["recipe"]["architecture"], model["recipe"]["memory"],
             model["recipe"]["projector"],
             ", ".join(map(count_text, model["bounds"]["picture_tokens"]))]
            for model in figures.models]
    paragraphs = [machine_text(facts, f", in {rounds}"), MEASURED, TEXTS,
                  " ".join([lengths_text(figures), prefetched_text(figures)]), MODELS]
    if any(row[0] == "mamba2" for row in rows):
        paragraphs.append(MAMBA2)
    return "\n".join([
        "## How it was measured", "", "```", call, "```", "",
        *map(paragraph, paragraphs),
        table(["model", "memory", "projector", "tokens of a picture"], rows, 3),
        "The commands, each with a free port:", "", "```", *commands_of(figures), "```", ""])


def commands_of(figures: Figures) -> list:
    return list(dict.fromkeys(command for whole in figures.wholes
                              for command in whole.show["commands"]))


def page(results: dict) -> str:
    figures = Figures(results)
    sections = [short_section(figures), behind_section(figures),
                *(show_section(figures, name) for name in SHOWS), encoded_section(figures),
                measured_section(figures)]
    return "\n".join(["# Pictures beside llama-server", "", paragraph(ABOUT),
                      *filter(None, sections)])
