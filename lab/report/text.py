"""Figures as pages write them. A figure that is not known is "-"."""

import textwrap

COLUMNS = 100
SAME_RATIO = 1.02  # less than that is no difference worth a word


def count_text(value: float) -> str:
    """"12,345"."""
    return f"{int(value + 0.5):,}"


def ratio_text(ratio: float) -> str:
    """"0.97", "12.4", "1,234"."""
    if ratio <= 0:
        return "-"
    if ratio < 9.995:
        return f"{ratio:.2f}"
    return f"{ratio:.1f}" if ratio < 99.95 else count_text(ratio)


def small_ratio_text(ratio: float) -> str:
    """As ratio_text, but two digits of a small ratio are left: "0.0043"."""
    return f"{ratio:.2g}" if 0 < ratio < 0.1 else ratio_text(ratio)


def ms_text(ms: float) -> str:
    """"0.84 ms", "12.3 ms", "340 ms", "1.25 s"."""
    if ms <= 0:
        return "-"
    if ms < 9.995:
        return f"{ms:.2f} ms"
    if ms < 99.95:
        return f"{ms:.1f} ms"
    if ms < 999.5:
        return f"{ms:.0f} ms"
    return f"{ms / 1000:.2f} s" if ms < 9995 else f"{ms / 1000:.1f} s"


def per_run_text(total: int, runs: int) -> str:
    """"12,345": `total` over `runs`, so that scenarios played more often do not look larger."""
    return count_text(total / runs) if runs else "-"


def sooner_text(ratio: float) -> str:
    """Of times to the first token, ours over theirs."""
    if ratio <= 0:
        return "first tokens cannot be compared"
    if ratio <= 1 / SAME_RATIO:
        return f"first tokens came {ratio_text(1 / ratio)} times sooner"
    if ratio >= SAME_RATIO:
        return f"first tokens came {ratio_text(ratio)} times later"
    return "first tokens came at the same time"


def joined(text: str) -> str:
    """In one line."""
    return " ".join(text.split())


def wrapped(text: str, columns: int = COLUMNS) -> str:
    return textwrap.fill(text, columns, break_long_words=False, break_on_hyphens=False)
