"""The matrix of docs/clients.md: each of some clients under the templates of well-known families of
models. A cell is the scenario played once, on the made model, with that template."""

from pathlib import Path

from session import SHARE_MIN, Row
from table import table_of

CLIENTS = ("claude", "codex", "opencode", "qwen")  # as in install.PACKAGES
TEMPLATES = ("qwen3.5", "gemma3", "gpt-oss", "deepseek-v3", "glm-4.5", "nemotron-h", "mistral-v3")
HEAD = ("Client", "Template", "Requests", "Refused", "Re-sent", "Prompt tokens", "Prefilled",
        "Reused", "Result")
FOLDER = Path(__file__).resolve().parents[2] / "testdata" / "templates"


def template_file(name: str) -> Path:
    return FOLDER / f"{name}.jinja"


def key_of(client: str, template: str) -> str:
    return f"{client}-{template}"


def reached(cell: Row) -> bool:
    """The goal: nothing refused, nothing sent again, enough reused, and the client content."""
    return cell.passed and not cell.refused and not cell.resends and cell.share >= SHARE_MIN


def short(cell) -> str:
    """A cell of the overview: refused / re-sent / reused."""
    if cell is None:
        return ""
    if cell.not_run:
        return "not run"
    text = f"{cell.refused} / {cell.resends} / {cell.share:.1%}"
    return text if reached(cell) else f"**{text}**"


def overview(cells: list) -> str:
    """A row a client, a column a template; bold where the goal is missed."""
    by_place = {(cell.client, cell.model): cell for cell in cells}
    clients = list(dict.fromkeys(cell.client for cell in cells))
    return table_of(["", *TEMPLATES], "l" + "r" * len(TEMPLATES), [
        [client, *[short(by_place.get((client, name))) for name in TEMPLATES]]
        for client in clients])


def details(cells: list) -> str:
    rows = []
    for cell in cells:
        if cell.not_run:
            figures = [""] * 6 + ["not run: " + cell.not_run]
        else:
            figures = [str(cell.requests), str(cell.refused), str(cell.resends),
                       f"{cell.prompt_tokens:,}", f"{cell.read_tokens:,}", f"{cell.share:.1%}",
                       "ok" if reached(cell) else "; ".join(cell.problems)]
        rows.append([cell.client, cell.model, *figures])
    return table_of(HEAD, "llrrrrrrl", rows)


def as_markdown(cells: list) -> str:
    return overview(cells) + "\n" + details(cells)


def explain(cell: Row) -> str:
    """For the terminal: why a cell misses its goal, and how much each request reused."""
    lines = [f"{cell.client} on {cell.model}: "
             f"{cell.refused} refused, {cell.resends} re-sent, {cell.share:.1%} reused"]
    if not reached(cell):
        lines += ["  " + text for text in ([cell.not_run] if cell.not_run else cell.problems)]
        lines += ["  " + text for text in cell.steps]
    return "\n".join(lines)
