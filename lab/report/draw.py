"""Draws plots as SVG with matplotlib. The same plot gives the same bytes."""

import io
import math
import textwrap

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from report.plots import DotPlot, LinePlot, Mark, Plot, drawn, spread

# Okabe and Ito's colours, which stay apart for colour-blind readers; marks differ in shape too.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#8a6d00", "#000000", "#7f7f7f"]
MARKERS = ["o", "s", "D", "^", "v", "P", "X", "*"]
SIGNS = "●■◆▲▼"  # the first markers as letters
DASHES = ["-", "--", ":", "-."]
INK, SOFT, GRID = "#1f2933", "#5b6773", "#e3e8ed"

STYLE = {"svg.hashsalt": "cairn", "svg.fonttype": "none", "font.family": "DejaVu Sans",
         "font.size": 9, "text.color": INK, "axes.labelcolor": SOFT, "axes.edgecolor": GRID,
         "xtick.color": SOFT, "ytick.color": INK, "axes.spines.top": False,
         "axes.spines.right": False, "axes.spines.left": False}

WIDTH = 9.6  # inches, as all below
LABEL, COLUMN, GAP = 1.75, 1.05, 0.15  # left of the axes; each column of texts right of them
BELOW, TITLE_LINE, HEAD = 0.62, 0.24, 0.42
TITLE_COLUMNS, HEAD_COLUMNS = 88, 15  # letters a line
LOG_FROM = 5  # largest over smallest value from which the axis is logarithmic


def _colour(series: int) -> str:
    return COLOURS[series % len(COLOURS)]


def _canvas(title: str, body: float, head: float, left: float, right: float) -> tuple[Figure, Axes]:
    """Axes of the height `body` below a title; `head` inches lie between them."""
    lines = textwrap.wrap(title, TITLE_COLUMNS, break_on_hyphens=False)
    top = 0.14 + TITLE_LINE * len(lines)
    height = top + head + body + BELOW
    figure = Figure(figsize=(WIDTH, height))
    figure.text(0.15 / WIDTH, 1 - 0.12 / height, "\n".join(lines), va="top", fontsize=12,
                fontweight="bold", linespacing=1.35)
    axes = figure.add_axes((left / WIDTH, BELOW / height, (WIDTH - left - right) / WIDTH,
                            body / height))
    return figure, axes


def _values(plot: DotPlot) -> list[float]:
    marks = [mark for row in plot.rows for mark in row.marks if mark]
    values = [value for mark in marks for value in (mark.value, mark.low, mark.high) if value]
    return values + ([plot.reference] if plot.reference else [])


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten between the two; of many decades the powers alone."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [times * 10.0 ** decade for decade in decades for times in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    if len(inside) > 10:
        return [tick for tick in inside if math.log10(tick).is_integer()]
    return inside


def _tick_text(unit: str, value: float) -> str:
    if unit == "ms":
        return f"{value / 1000:g} s" if value >= 1000 else f"{value:g} ms"
    return f"{value:g}"


def _scale(plot: DotPlot, axes: Axes) -> None:
    values = _values(plot)
    low, high = min(values), max(values)
    if high / low >= LOG_FROM:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.25, high * 1.25)
        axes.xaxis.set_major_locator(FixedLocator(_ticks(low / 1.25, high * 1.25)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(f"{plot.axis}, logarithmic")
    else:
        axes.set_xlim(0, high * 1.08)
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.set_xlabel(plot.axis)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick_text(plot.unit, value)))


def _draw_mark(axes: Axes, mark: Mark, y: float, series: int) -> None:
    colour = _colour(series)
    ends = [end for end in (mark.low, mark.high) if end]
    if ends:
        axes.plot([min(ends + [mark.value]), max(ends + [mark.value])], [y, y], color=colour,
                  alpha=0.45, linewidth=1.5, solid_capstyle="round")
    axes.plot([mark.value], [y], marker=MARKERS[series % len(MARKERS)], markersize=6,
              color=colour, markeredgecolor="white", markeredgewidth=0.6, clip_on=False)


def _draw_column(plot: DotPlot, axes: Axes, at: int, series: int, right: float) -> None:
    """The texts of a series, right of the axes, under its name in its colour."""
    inside = WIDTH - LABEL - right
    x = 1 + (GAP + COLUMN * (at + 0.9)) / inside
    transform = axes.get_yaxis_transform()
    sign = SIGNS[series] + " " if series < len(SIGNS) else ""
    name = textwrap.fill(sign + plot.series[at], HEAD_COLUMNS, break_on_hyphens=False)
    axes.text(x, -0.75, name, transform=transform, ha="right", va="bottom", color=_colour(series),
              fontweight="bold", fontsize=8)
    for y, row in enumerate(plot.rows):
        mark = row.marks[at]
        axes.text(x, y, mark.text if mark else "-", transform=transform, ha="right", va="center",
                  color=_colour(series))


def _draw_reference(plot: DotPlot, axes: Axes) -> None:
    if plot.reference is None:
        return
    axes.axvline(plot.reference, color=SOFT, linewidth=1, zorder=1)
    axes.annotate(plot.reference_label, (plot.reference, -0.75), ha="center", va="bottom",
                  color=SOFT, fontsize=8, annotation_clip=False)
    if plot.sides:
        for side, x, anchor in zip(plot.sides, (0.0, 1.0), ("left", "right")):
            axes.text(x, -0.75, side, transform=axes.get_yaxis_transform(), ha=anchor, va="bottom",
                      color=SOFT, fontsize=8)


def _dot_figure(plot: DotPlot) -> Figure:
    numbers = plot.colours or list(range(len(plot.series)))
    pitch = max(0.26, 0.11 * len(plot.series) + 0.06)
    right = GAP + COLUMN * len(plot.series) + 0.15
    figure, axes = _canvas(plot.title, pitch * len(plot.rows), HEAD, LABEL, right)
    axes.set_ylim(len(plot.rows) - 0.5, -0.5)
    axes.set_yticks(range(len(plot.rows)), [row.label for row in plot.rows])
    axes.tick_params(length=0)
    _scale(plot, axes)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for y in range(1, len(plot.rows), 2):
        axes.axhspan(y - 0.5, y + 0.5, color="#f4f6f8", zorder=0, linewidth=0)
    _draw_reference(plot, axes)
    step = 0.66 / max(len(plot.series), 1)
    for at, series in enumerate(numbers):
        shift = (at - (len(numbers) - 1) / 2) * step
        for y, row in enumerate(plot.rows):
            mark = row.marks[at]
            if mark:
                _draw_mark(axes, mark, y + shift, series)
        _draw_column(plot, axes, at, series, right)
    return figure


def _draw_lines(plot: LinePlot, axes: Axes) -> list[str]:
    """Returns the lines' colours."""
    colours: list[str] = []
    for line in drawn(plot.lines):
        number = len([colour for colour in colours if colour != INK])
        colours.append(INK if line.oracle else _colour(number))
        places = [(x, value) for x, value in enumerate(line.values) if value is not None]
        axes.plot([x for x, _ in places], [value for _, value in places], color=colours[-1],
                  linestyle=":" if line.oracle else DASHES[number % len(DASHES)], linewidth=1.8,
                  marker="" if line.oracle else MARKERS[number % len(MARKERS)], markersize=4)
    return colours


def _line_figure(plot: LinePlot) -> Figure:
    body = 3.4
    figure, axes = _canvas(plot.title, body, 0.15, 0.75, 2.4)
    axes.set_xlim(-0.25, len(plot.columns) - 0.75)
    axes.set_xticks(range(len(plot.columns)), plot.columns)
    axes.set_xlabel(plot.column_axis)
    axes.set_ylabel(plot.axis)
    axes.tick_params(length=0)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    colours = _draw_lines(plot, axes)
    low, high = axes.get_ylim()
    lines = drawn(plot.lines)
    lasts = [[(x, value) for x, value in enumerate(line.values) if value is not None][-1]
             for line in lines]
    places = spread([value for _, value in lasts], low, high, (high - low) * 0.17 / body)
    edge = len(plot.columns) - 0.72
    for line, last, place, colour in zip(lines, lasts, places, colours):
        axes.plot([last[0], edge], [last[1], place], color=colour, linewidth=0.6, clip_on=False)
        axes.text(edge + 0.03, place, line.name, color=colour, va="center")
    axes.set_ylim(low, high)
    return figure


def draw(plot: Plot) -> bytes:
    with matplotlib.rc_context(STYLE):
        figure = _line_figure(plot) if isinstance(plot, LinePlot) else _dot_figure(plot)
        out = io.BytesIO()
        figure.savefig(out, format="svg", facecolor="white",
                       metadata={"Date": None, "Creator": None, "Title": plot.title})
    return out.getvalue()
