"""Draws hit rates over budgets as SVG, legible on light and on dark pages."""

from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 190, 40, 46  # the names of the lines stand in RIGHT
LABEL_STEP = 17

# Told apart by hue and by dashes. Each pair is a colour for light and one for dark pages.
COLOURS = [("#0b62a8", "#6cb6ff"), ("#b3470b", "#ff9d57"), ("#1a7340", "#5fcf8c"),
           ("#8a2f8f", "#dc8ee0"), ("#9a2334", "#ff8593"), ("#5d5a10", "#d0ca56"),
           ("#00707a", "#4fd0dc"), ("#5b4bb5", "#b0a4ff")]
DASHES = ["", "7 3", "2 3", "10 3 2 3"]


@dataclass
class Line:
    name: str
    values: list  # one a column, None where there is none
    oracle: bool = False


def left_out(lines: list) -> list:
    """Names of lines so far below the best that they would flatten all others."""
    best = max((value for line in lines for value in line.values if value is not None), default=0)
    return [line.name for line in lines
            if max((value for value in line.values if value is not None), default=0) < best / 2]


def axis(values: list) -> list:
    """Values to name on the axis: round ones, from below the least to above the greatest."""
    low, high = min(values), max(values)
    step = next(step for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if (high - low) / step <= 7
                or step == 20)
    first = int(low / step)
    last = first
    while last * step < high:
        last += 1
    return [round(step * at, 3) for at in range(first, max(last, first + 1) + 1)]


def spread(wanted: list, low: float, high: float) -> list:
    """Heights for labels near the wanted ones, none on another, in the order of `wanted`."""
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    placed = [0.0] * len(wanted)
    above = low - LABEL_STEP
    for at in order:
        placed[at] = above = max(wanted[at], above + LABEL_STEP)
    below = high + LABEL_STEP
    for at in reversed(order):
        placed[at] = below = min(placed[at], below - LABEL_STEP)
    return placed


def style() -> str:
    light = [f".c{n} {{ stroke: {pair[0]}; }} .t{n} {{ fill: {pair[0]}; }}"
             for n, pair in enumerate(COLOURS)]
    dark = [f".c{n} {{ stroke: {pair[1]}; }} .t{n} {{ fill: {pair[1]}; }}"
            for n, pair in enumerate(COLOURS)]
    return "\n".join([
        "<style>",
        "text { font: 13px sans-serif; fill: #24292f; } .title { font-weight: bold; }",
        ".page { fill: #ffffff; } .grid { stroke: #d5d9de; } .oracle { stroke: #24292f; }",
        "polyline { fill: none; stroke-width: 2; }", *light,
        "@media (prefers-color-scheme: dark) {",
        "text { fill: #e6edf3; } .page { fill: #0d1117; } .grid { stroke: #343b44; }",
        ".oracle { stroke: #e6edf3; }", *dark, "}", "</style>"])


def draw(title: str, columns: list, lines: list) -> str:
    """`columns` are named at the bottom, evenly spaced; values are percentages."""
    gone = left_out(lines)
    lines = [line for line in lines if line.name not in gone
             and any(value is not None for value in line.values)]
    if not lines:
        return ""
    ticks = axis([value for line in lines for value in line.values if value is not None])
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def x(column: int) -> float:
        return LEFT + (column + 0.25) * (right - LEFT) / (len(columns) - 0.5)

    def y(value: float) -> float:
        return bottom - (value - ticks[0]) / (ticks[-1] - ticks[0]) * (bottom - TOP)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(title)}">',
             style(), f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
             f'<text class="title" x="{LEFT}" y="22">{escape(title)}</text>']
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y(tick):.1f}" '
                     f'y2="{y(tick):.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">'
                     f'{tick:g} %</text>')
    for column, name in enumerate(columns):
        parts.append(f'<text x="{x(column):.1f}" y="{bottom + 20}" text-anchor="middle">'
                     f'{escape(name)}</text>')
    lasts = [[(x(c), y(v)) for c, v in enumerate(line.values) if v is not None][-1]
             for line in lines]
    labels = spread([last[1] for last in lasts], TOP, bottom)
    coloured = 0
    for line, last, label in zip(lines, lasts, labels):
        points = " ".join(f"{x(c):.1f},{y(v):.1f}" for c, v in enumerate(line.values)
                          if v is not None)
        if line.oracle:
            stroke, fill, dash = "oracle", "", "4 4"
        else:
            number = coloured % len(COLOURS)
            stroke, fill = f"c{number}", f"t{number}"
            dash = DASHES[coloured % len(DASHES)]
            coloured += 1
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline class="{stroke}"{dashes} points="{points}"/>')
        parts.append(f'<line class="{stroke}" x1="{last[0]:.1f}" y1="{last[1]:.1f}" '
                     f'x2="{right + 4}" y2="{label:.1f}" stroke-width="0.7"/>')
        # A class sets the colour only where it comes after `text` and weighs more, as it does.
        parts.append(f'<text class="{fill}" x="{right + 8}" y="{label + 4:.1f}">'
                     f'{escape(line.name)}</text>')
    parts.append("</svg>")
    return "\n".join(parts) + "\n"
