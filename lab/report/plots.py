"""What plots show, as data; draw.py draws them."""

from dataclasses import dataclass, field


@dataclass
class Mark:
    """A value of a row, with the text that says it, and how far other values reach from it."""
    value: float  # positive
    text: str
    low: float | None = None
    high: float | None = None


@dataclass
class Row:
    label: str
    marks: list[Mark | None]  # one for each series; None: not known


@dataclass
class DotPlot:
    """Rows of marks over a horizontal axis, and their texts in a column for each series."""
    title: str  # the message, with its figures
    axis: str
    series: list[str]
    rows: list[Row]
    unit: str = ""  # "ms": ticks are written as times; else they are plain numbers
    reference: float | None = None  # a value with a line of its own
    reference_label: str = ""
    sides: tuple[str, str] | None = None  # what left and right of the reference means
    colours: list[int] = field(default_factory=list)  # numbers of series; empty: from 0 on


@dataclass
class Line:
    name: str
    values: list[float | None]  # one a column, None where there is none
    oracle: bool = False


@dataclass
class LinePlot:
    title: str
    axis: str  # of the values
    column_axis: str
    columns: list[str]  # evenly spaced
    lines: list[Line]


Plot = DotPlot | LinePlot


def is_empty(plot: Plot) -> bool:
    if isinstance(plot, LinePlot):
        return not drawn(plot.lines)
    return not any(mark for row in plot.rows for mark in row.marks)


def _best(line: Line) -> float:
    return max((value for value in line.values if value is not None), default=0)


def left_out(lines: list[Line]) -> list[str]:
    """Names of lines so far below the best that they would flatten all others."""
    best = max(map(_best, lines), default=0)
    return [line.name for line in lines if _best(line) < best / 2]


def drawn(lines: list[Line]) -> list[Line]:
    gone = left_out(lines)
    return [line for line in lines
            if line.name not in gone and any(value is not None for value in line.values)]


def spread(wanted: list[float], low: float, high: float, step: float) -> list[float]:
    """Places for labels near the wanted ones, `step` apart at least, in the order of `wanted`."""
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    placed = [0.0] * len(wanted)
    above = low - step
    for at in order:
        placed[at] = above = max(wanted[at], above + step)
    below = high + step
    for at in reversed(order):
        placed[at] = below = min(placed[at], below - step)
    return placed
