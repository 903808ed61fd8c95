"""Figures and plots of the pages on traces."""

from pathlib import Path

from report.plots import is_empty


def number(value, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def write_plot(file: Path, plot) -> bool:
    """Whether there was something to draw."""
    if is_empty(plot):
        return False
    from report.draw import draw  # matplotlib: pylint: disable=import-outside-toplevel
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(draw(plot))
    return True
