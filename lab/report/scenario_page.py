"""The page of scenarios that were played on several servers: docs/benchmarks.md."""

import re
from collections.abc import Callable

from report.claims import Case, Check, check_allowed, check_peers, peer_ratios
from report.page import Block, Bullets, Cell, Code, Heading, Paragraph, Picture, Table
from report.plots import DotPlot, Mark, Row, is_empty
from report.result import Result, Server
from report.summary import Summary, first_token_ratios, geometric_mean, scenario_names, summarize
from report.text import joined, ms_text, per_run_text, ratio_text, sooner_text

ABOUT = """How many tokens of each prompt a server prefills, and how long its client waits for the
first token, in scenarios that clients play every day. `make bench-peers` writes
this page and its plots; every figure is from one run of it."""

FIRST_TOKEN_CLAIM = """Ours over the peer's, request by request in the same place of the same run;
below 1 ours is sooner. Each scenario has its geometric mean, and they have theirs, so that long
scenarios weigh no more than short ones. First requests, which every server must prefill whole, are
in it."""

LEGEND = """Tokens are those of one run, by the server's own tokenizer. The *lower bound* is what no
server can avoid: each prompt without the longest beginning that an earlier prompt or answer of its
scenario had, and at least its last token. *Prefilled* is on the request's own time, while the
client waits; *in all* is with what was prefilled ahead of the next request. Times are the client's.
Lengths of the scenarios are multiplied by {scale:g}; their texts come from seed {seed}."""


def _cases(heading: str, cases: list[Case]) -> list[Block]:
    if not cases:
        return []
    return [Paragraph(heading), Table(["model", "scenario", "why"],
                                      [[case.title, case.scenario, case.why] for case in cases], 3)]


def _verdict(check: Check, scope: str) -> list[Block]:
    if not check.checked:
        return [Paragraph("**It could not be checked.**")]
    held = ("**It does not hold everywhere**; it does in" if check.broken else "**It holds**, in")
    return [Paragraph(f"{held} {check.held} of {check.checked} {scope}."),
            *_cases("It does not hold here:", check.broken),
            *_cases("It could not be checked here:", check.unchecked)]


def _ratios(results: list[Result]) -> Table:
    named = [(result.title, [result]) for result in results] + [("**all of them**", results)]
    rows = []
    for title, some in named:
        for ratio in peer_ratios(some):
            values = ratio.values or [0.0]
            rows.append([ratio.peer, title, str(len(ratio.values)), ratio_text(ratio.mean),
                         ratio_text(min(values)), ratio_text(max(values))])
    return Table(["beside", "model", "scenarios", "geometric mean", "least", "most"], rows, 2)


def _claims(results: list[Result]) -> list[Block]:
    means = [f"Beside {ratio.peer}: **{ratio_text(ratio.mean)}**, the geometric mean over "
             f"{len(ratio.values)} scenarios; {sooner_text(ratio.mean)}."
             for ratio in peer_ratios(results)]
    return [Heading(2, "What was promised"),
            Heading(3, "1. Hardly more is prefilled than must be"),
            Paragraph("In every run of every scenario, the tokens prefilled on the request's own "
                      "time are at most 1.02 times the lower bound, plus 8 a request."),
            *_verdict(check_allowed(results), "scenarios, each model's counted"),
            Heading(3, "2. Never more than the peer prefills"),
            Paragraph("In no run are they more than what the peer prefilled in the same run, plus "
                      "8 a request."),
            *_verdict(check_peers(results), "scenarios, each model's and peer's counted"),
            Heading(3, "3. The time to the first token"),
            Paragraph(joined(FIRST_TOKEN_CLAIM)), Bullets(means), _ratios(results)]


def _rows(result: Result, servers: list[Server],
          mark: Callable[[Server, str], Mark | None]) -> list[Row]:
    """A row for each scenario that has a mark, the one that reaches furthest right first."""
    rows = [Row(scenario, [mark(server, scenario) for server in servers])
            for scenario in scenario_names(result)]
    known = [row for row in rows if any(row.marks)]
    return sorted(known, key=lambda row: -max(mark.value for mark in row.marks if mark))


def _worst(rows: list[Row], at: int) -> float:
    return max((row.marks[at].value for row in rows if row.marks[at]), default=0.0)


def _of_each(servers: list[Server], texts: list[str]) -> str:
    return "; ".join(f"{server.name} {text}" for server, text in zip(servers, texts)
                     if text != "-")


def read_plot(result: Result) -> DotPlot:
    def mark(server: Server, scenario: str) -> Mark | None:
        ratio = summarize(server, scenario).tokens.read_ratio
        return Mark(ratio, ratio_text(ratio)) if ratio else None

    rows = _rows(result, result.servers, mark)
    worst = [ratio_text(_worst(rows, at)) for at in range(len(result.servers))]
    title = f"Tokens prefilled over the lower bound, at worst: {_of_each(result.servers, worst)}"
    return DotPlot(title, "tokens prefilled while the client waited ÷ lower bound",
                   [server.name for server in result.servers], rows, reference=1,
                   reference_label="lower bound")


def first_token_plot(result: Result) -> DotPlot:
    def mark(server: Server, scenario: str) -> Mark | None:
        summary = summarize(server, scenario)
        median = summary.first_token(0.5)
        return Mark(median, ms_text(median), high=summary.first_token(0.9)) if median else None

    rows = _rows(result, result.servers, mark)
    means = [ms_text(geometric_mean([row.marks[at].value for row in rows if row.marks[at]]))
             for at in range(len(result.servers))]
    title = ("Median time to the first token, geometric mean of all scenarios: "
             f"{_of_each(result.servers, means)}")
    return DotPlot(title, "time to the first token (mark: median, line: to the 90th percentile)",
                   [server.name for server in result.servers], rows, unit="ms")


def ratio_plot(result: Result) -> DotPlot:
    def mark(server: Server, scenario: str) -> Mark | None:
        ratios = first_token_ratios(result.servers[0], server, scenario)
        mean = geometric_mean(ratios)
        return Mark(mean, ratio_text(mean), min(ratios), max(ratios)) if ratios else None

    peers = result.servers[1:]
    rows = _rows(result, peers, mark)
    ours = result.servers[0].name if result.servers else ""
    means = [f"{ratio_text(ratio.mean)} beside {ratio.peer}" for ratio in peer_ratios([result])]
    title = f"Time to the first token, {ours} ÷ peer, geometric mean: {'; '.join(means)}"
    return DotPlot(title, f"time to the first token, {ours} ÷ peer (mark: geometric mean, line: "
                   "all pairs of requests)", [peer.name for peer in peers], rows,
                   reference=1, reference_label="the same time",
                   sides=(f"← {ours} sooner", f"{ours} later →"),
                   colours=list(range(1, len(result.servers))))


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def pictures_of(result: Result) -> list[Picture]:
    slug, of = _slug(result.title), f" ({result.title})"
    named = [Picture(f"{slug}-read.svg", f"Tokens prefilled over the lower bound{of}",
                     read_plot(result)),
             Picture(f"{slug}-first-token.svg", f"Time to the first token{of}",
                     first_token_plot(result)),
             Picture(f"{slug}-ratio.svg", f"Time to the first token, ours over theirs{of}",
                     ratio_plot(result))]
    return [picture for picture in named if not is_empty(picture.plot)]


def _ratio_cell(ratio: float) -> Cell:
    return Cell(ratio_text(ratio), ratio)


def _row(server: Server, summary: Summary, ratio: str | Cell) -> list[str | Cell]:
    tokens, runs = summary.tokens, summary.runs
    bound_runs = runs if tokens.lower_bound else 0
    cells: list[str | Cell] = [summary.scenario, server.name]
    for total, of in ((tokens.sent, runs), (tokens.read, runs), (tokens.lower_bound, bound_runs)):
        cells.append(Cell(per_run_text(total, of), total / max(of, 1)))
    cells += [_ratio_cell(tokens.read_ratio), _ratio_cell(tokens.read_in_all_ratio)]
    for share in (0.5, 0.9, 0.99):
        cells.append(Cell(ms_text(summary.first_token(share)), summary.first_token(share)))
    return [*cells, _ratio_cell(summary.tokens_per_second), ratio]


def _figures(result: Result) -> Table:
    rows = []
    for scenario in scenario_names(result):
        for server in result.servers:
            summary = summarize(server, scenario)
            if summary.runs:
                ratios = first_token_ratios(result.servers[0], server, scenario)
                ours = server is result.servers[0]
                rows.append(_row(server, summary,
                                 "" if ours else _ratio_cell(geometric_mean(ratios))))
    return Table(["scenario", "server", "sent", "prefilled", "lower bound",
                  "prefilled ÷ lower bound", "in all ÷ lower bound", "first token, median", "p90",
                  "p99", "tokens/s", "first token, ours ÷ theirs"], rows, 2)


def commands_of(servers: list[Server]) -> str:
    lines = []
    for server in servers:
        if server.command_line:
            program = f", {server.program}" if server.program else ""
            lines.append(f"# {server.name}{program}\n{server.command_line}\n")
    return "".join(lines)


def command_blocks(results: list[Result]) -> list[Block]:
    blocks: list[Block] = []
    for result in results:
        commands = commands_of(result.servers)
        if commands:
            blocks += [Paragraph(f"Servers of {result.title}:"), Code(commands)]
    return blocks


def scenario_page(results: list[Result], facts: list[Block]) -> list[Block]:
    """`results`: merged; `facts`: on the machine and how the servers were run."""
    played = [result for result in results if scenario_names(result)]
    if not played:
        return [Heading(1, "Benchmarks"), Paragraph("Nothing was played.")]
    legend = joined(LEGEND.format(scale=played[0].scale, seed=played[0].seed))
    blocks: list[Block] = [Heading(1, "Benchmarks"), Paragraph(joined(ABOUT)), *_claims(played),
                           Heading(2, "Figures"), Paragraph(legend)]
    for result in played:
        blocks += [Heading(3, result.title), *pictures_of(result), _figures(result)]
    return [*blocks, Heading(2, "How it was done"), *facts, *command_blocks(played)]
