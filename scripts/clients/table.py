"""Rows of clients: kept between runs, and shown in docs/clients.md."""

import json
from dataclasses import asdict
from pathlib import Path

from session import Row

HEAD = ("Client", "Version", "Model", "Requests", "Prompt tokens", "Prefilled", "Reused", "Re-sent",
        "Result")
PICTURE_HEAD = ("Client", "Version", "Pictures by", "Requests", "With pictures", "Pictures",
                "Encoded",
                "Prompt tokens", "Prefilled", "Reused", "Result")

# Between two of these lines of the page stands what a run has written.
END = "<!-- until here -->"


def begin(block: str) -> str:
    return f"<!-- {block}, written by `make clients` -->"


def cells(row: Row) -> list:
    if row.not_run:
        return [row.client, row.version, row.model, "", "", "", "", "", "not run: " + row.not_run]
    return [row.client, row.version, row.model, str(row.requests), f"{row.prompt_tokens:,}",
            f"{row.read_tokens:,}", f"{row.share:.1%}", str(row.resends + row.refused),
            "ok" if row.passed else "; ".join(row.problems)]


def line(texts) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def table_of(head, kinds: str, rows) -> str:
    """`kinds`: a letter a column, l for texts and r for figures."""
    rule = ["---:" if kind == "r" else "---" for kind in kinds]
    return "\n".join(map(line, [head, rule, *rows])) + "\n"


def as_markdown(rows: list) -> str:
    return table_of(HEAD, "lllrrrrrl", map(cells, rows))


def picture_cells(row: Row) -> list:
    if row.not_run:
        return [row.client, row.version, row.ways, *[""] * 7, "not run: " + row.not_run]
    return [row.client, row.version, row.ways, str(row.requests), str(row.pictured),
            str(row.pictures), str(row.encoded), f"{row.prompt_tokens:,}", f"{row.read_tokens:,}",
            f"{row.share:.1%}", "ok" if row.passed else "; ".join(row.problems)]


def pictures_as_markdown(rows: list) -> str:
    return table_of(PICTURE_HEAD, "lllrrrrrrrl", map(picture_cells, rows))


def keep(row: Row, key: str, folder: Path):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{key}.json").write_text(json.dumps(asdict(row), indent=1) + "\n")


def kept(keys: list, folder: Path) -> list:
    files = [folder / f"{key}.json" for key in keys]
    return [Row(**json.loads(file.read_text())) for file in files if file.is_file()]


def needs_and_notes(rows: list, needs: dict, notes: dict) -> str:
    """`needs` and `notes` by client: what it takes to run it, and why a row is as it is."""
    text = "".join(f"- **{client}**: {what}.\n" for client, what in needs.items())
    shown = {row.client for row in rows}
    causes = {client: what for client, what in notes.items() if client in shown}
    if causes:
        text += "\n## Observations\n\n"
        text += "".join(f"- **{client}**: {what}\n" for client, what in causes.items())
    return text


def write_block(page: Path, block: str, text: str):
    """Replaces a block of the page; the words around it are written by hand."""
    before, mark, rest = page.read_text().partition(begin(block))
    old, end, after = rest.partition(END)
    if not mark or not end:
        raise RuntimeError(f"{page.name} lacks the line {begin(block)} or the line {END}")
    page.write_text(f"{before}{mark}\n\n{text.strip()}\n\n{end}{after}")
