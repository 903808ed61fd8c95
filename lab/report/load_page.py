"""The page of workloads of many clients at once: docs/serve.md."""

from collections.abc import Callable

from report.load_figures import (COUNT, MIB, MS, NEITHER, WORKLOADS, Figure, Workload,
                                 check_known, figures_of, median, runs_of)
from report.page import Block, Bullets, Cell, Code, Heading, Paragraph, Picture, Table
from report.plots import DotPlot, Mark, Row, is_empty
from report.result import Result, ResultError, Server, Turn
from report.scenario_page import commands_of
from report.summary import percentile
from report.text import count_text, joined, ms_text, small_ratio_text

ABOUT = """How a server fares when several clients ask at once. `make bench-serve` writes this page
and its plots; every figure is from one run of it, and the median where it was played more than
once. Times are the clients', lengths are multiplied by {scale:g}, and texts come from seed
{seed}."""


def _value_text(unit: str, value: float | None) -> str:
    if value is None:
        return "-"
    if unit == MS:
        return ms_text(value)
    if unit in (COUNT, MIB):
        return count_text(value) + (" MiB" if unit == MIB else "")
    return small_ratio_text(value)


def _value_cell(unit: str, value: float | None) -> Cell:
    return Cell(_value_text(unit, value), value or 0.0)


def _share(figure: Figure, ours: float | None, theirs: float | None) -> str:
    """"0.83": the first server over another; nothing where that means nothing."""
    if figure.better == NEITHER:
        return ""
    if ours is None or not theirs or theirs < 0:
        return "-"
    return small_ratio_text(ours / theirs)


def _figure_table(servers: list[Server], workload: str) -> list[Block]:
    rows: list[list[str | Cell]] = []
    for figure in figures_of(workload):
        values = [median(server, workload, figure.key) for server in servers]
        if all(value is None for value in values):
            continue
        shares = [_share(figure, values[0], value) for value in values[1:]]
        rows.append([figure.title, *(_value_cell(figure.unit, value) for value in values), *shares,
                     figure.better])
    names = [server.name for server in servers]
    over = ["ours ÷ " + ("theirs" if len(servers) == 2 else name) for name in names[1:]]
    return [Table(["", *names, *over, "better is"], rows)] if rows else []


def _turn_median(server: Server, turn: int, value: Callable[[Turn], float]) -> float | None:
    values = [value(run.turns[turn]) for run in runs_of(server, "turns")
              if not run.error and turn < len(run.turns)]
    return percentile(values, 0.5) if values else None


TURN_COLUMNS: list[tuple[str, str, Callable[[Turn], float]]] = [
    ("new message", COUNT, lambda turn: turn.message_tokens),
    ("prefilled", COUNT, lambda turn: turn.read_tokens),
    ("first token", MS, lambda turn: turn.first_token_ms)]


def _turn_table(servers: list[Server]) -> list[Block]:
    turns = max((len(run.turns) for server in servers for run in runs_of(server, "turns")),
                default=0)
    head = [f"{server.name}: {title}" for server in servers for title, _, _ in TURN_COLUMNS]
    rows: list[list[str | Cell]] = [
        [str(turn + 1), *(_value_cell(unit, _turn_median(server, turn, value))
                          for server in servers for _, unit, value in TURN_COLUMNS)]
        for turn in range(turns)]
    return [Table(["turn", *head], rows)] if turns else []


def _faults(servers: list[Server], workload: str) -> list[Block]:
    """What went wrong, a line for each server and kind."""
    lines = []
    for server in servers:
        for run in runs_of(server, workload):
            where = f"{server.name}, run {run.repetition + 1}"
            if run.error:
                lines.append(f"{where} ended early: {run.error}")
            lines += [f"{where}: {what}, {count_text(count)} times"
                      for what, count in run.faults.items()]
    return [Bullets(lines)] if lines else []


def _section(servers: list[Server], workload: Workload) -> list[Block]:
    table, faults = _figure_table(servers, workload.name), _faults(servers, workload.name)
    if not table and not faults:
        return []
    turns = _turn_table(servers) if workload.name == "turns" else []
    return [Heading(2, workload.title), Paragraph(workload.about), *table, *turns, *faults]


def _mark(server: Server, workload: str, key: str, high_key: str) -> Mark | None:
    value = median(server, workload, key)
    high = median(server, workload, high_key) if high_key else None
    return Mark(value, ms_text(value), high=high) if value else None


def _rows(servers: list[Server], shown: list[tuple[str, str, str, str]]) -> list[Row]:
    """`shown`: a label, a workload, the key of the mark and that of the line's end."""
    rows = [Row(label, [_mark(server, workload, key, high) for server in servers])
            for label, workload, key, high in shown]
    return [row for row in rows if any(row.marks)]


def _of_each(servers: list[Server], workload: str, key: str) -> str:
    values = [(server.name, median(server, workload, key)) for server in servers]
    return "; ".join(f"{name} {ms_text(value)}" for name, value in values if value)


def pictures_of(result: Result) -> list[Picture]:
    servers, names = result.servers, [server.name for server in result.servers]
    first_token = DotPlot(
        "Time to the first token when many ask at once"
        + _after(_of_each(servers, "mixed", "chat_first_token_p50_ms"), ", median of chats: "),
        "time to the first token (mark: median, line: to the 99th percentile or the longest)",
        names, _rows(servers, [
            ("chats", "mixed", "chat_first_token_p50_ms", "chat_first_token_p99_ms"),
            ("long prompts", "mixed", "long_first_token_p50_ms", "long_first_token_p99_ms"),
            ("turns", "turns", "first_token_p50_ms", "first_token_max_ms"),
            ("streams", "streams", "waited_p50_ms", "waited_p99_ms")]), unit="ms")
    gaps = DotPlot(
        "Gaps in answers while a long prompt is prefilled"
        + _after(_of_each(servers, "gaps", "during_p99_ms"), ", 99th percentile: "),
        "time between two pieces of an answer", names,
        _rows(servers, [("before, median", "gaps", "before_p50_ms", ""),
                        ("before, p99", "gaps", "before_p99_ms", ""),
                        ("during, median", "gaps", "during_p50_ms", ""),
                        ("during, p99", "gaps", "during_p99_ms", ""),
                        ("during, longest", "gaps", "during_max_ms", "")]), unit="ms")
    named = [Picture("first-token.svg", "Time to the first token", first_token),
             Picture("gaps.svg", "Gaps in answers while a long prompt is prefilled", gaps)]
    return [picture for picture in named if not is_empty(picture.plot)]


def _after(text: str, words: str) -> str:
    return words + text if text else ""


def load_page(results: list[Result], facts: list[Block]) -> list[Block]:
    """`results`: merged; `facts`: on the machine and how the servers were run."""
    played = [result for result in results
              if any(server.load_runs for server in result.servers)]
    if not played:
        return [Heading(1, "Many at once"), Paragraph("Nothing was played.")]
    if len(played) > 1:
        models = ", ".join(result.title for result in played)
        raise ResultError(f"the results are of several models ({models}); a page has one")
    result = played[0]
    for server in result.servers:
        check_known(server)
    about = joined(ABOUT.format(scale=result.scale, seed=result.seed))
    blocks: list[Block] = [Heading(1, "Many at once"), Paragraph(about), *pictures_of(result)]
    for workload in WORKLOADS:
        blocks += _section(result.servers, workload)
    commands = commands_of(result.servers)
    return [*blocks, Heading(2, "How it was done"), *facts, *([Code(commands)] if commands else [])]
