"""Parts of the pages that benchmarks write, in Markdown; lab/report/text.py writes the figures."""

import math
from pathlib import Path

from report.plots import is_empty
from report.text import COLUMNS, count_text, joined, wrapped


def table(head: list, rows: list, texts: int = 1) -> str:
    """`texts`: how many columns are no figures."""
    rule = ["---"] * texts + ["--:"] * (len(head) - texts)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows]) + "\n"


def paragraph(text: str) -> str:
    """In lines of the width of the page, with an empty one behind them."""
    return wrapped(joined(text)) + "\n"


def item(text: str) -> str:
    """One of a list."""
    return wrapped("- " + joined(text), COLUMNS - 2).replace("\n", "\n  ")


def counted(number: int, what: str) -> str:
    """"1 run", "3 runs"."""
    return f"{count_text(number)} {what}" + ("" if number == 1 else "s")


def number(value, digits: int) -> str:
    """"1,234.5"; a dash of None."""
    return "–" if value is None else f"{value:,.{digits}f}"


def percentile(figures: list, share: float) -> float:
    """By the nearest rank; 0 of none."""
    return sorted(figures)[max(0, math.ceil(share * len(figures)) - 1)] if figures else 0


def write_plot(file: Path, plot) -> bool:
    """Whether there was something to draw."""
    if is_empty(plot):
        return False
    from report.draw import draw  # matplotlib: pylint: disable=import-outside-toplevel
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(draw(plot))
    return True
