"""Rows of clients: kept between runs, and shown."""

import json
from dataclasses import asdict
from pathlib import Path

from session import SHARE_MIN, Row

HEAD = ("Client", "Version", "Model", "Requests", "Prompt tokens", "Read", "Reused", "Re-sent",
        "Result")

ABOUT = """# Real clients

`make clients` installs the clients below, starts a `cairn serve` for each, and lets it work: two
turns and a resumed session, each turn with a call of the client's own shell tool. It takes some
ten minutes, needs Linux on x86_64 with python3 and npm, and is no part of `make ci`.
`make clients ONLY=pi,codex` runs some and keeps the other rows as they were. This file is written
by the run.

What the clients are answered stands in a script (`cairn serve --script`), so that all runs go the
same way; the model reads every prompt and draws every token of the answer all the same. The made
model's tokens are bytes, so its prompts are four times as long as another model's. Its answers
begin with reasoning, which the template drops once a new question comes; Gemma's do not. A proxy
between client and server counts.

- **Requests** are those that make the model answer; **Prompt tokens** is their prompts together,
  **Read** what the model had to read of it.
- **Reused** is the share of the prompts that was not read, the session's first request with tools
  aside: all of that one is new. At least {share:.0%} is asked for.
- **Re-sent** counts requests that came twice with the same body, and those that were refused.
- **Result** is `ok` when the client ended with 0, showed every answer, ran its tool, sent the
  result back, went on with the conversation after a new start, and said nothing of an error.

"""


def cells(row: Row) -> list:
    if row.not_run:
        return [row.client, row.version, row.model, "", "", "", "", "", "not run: " + row.not_run]
    return [row.client, row.version, row.model, str(row.requests), f"{row.prompt_tokens:,}",
            f"{row.read_tokens:,}", f"{row.share:.1%}", str(row.resends),
            "ok" if row.passed else "; ".join(row.problems)]


def as_markdown(rows: list) -> str:
    lines = ["| " + " | ".join(HEAD) + " |",
             "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells(row)) + " |"
              for row in rows]
    return "\n".join(lines) + "\n"


def keep(row: Row, key: str, folder: Path):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{key}.json").write_text(json.dumps(asdict(row), indent=1) + "\n")


def kept(keys: list, folder: Path) -> list:
    files = [folder / f"{key}.json" for key in keys]
    return [Row(**json.loads(file.read_text())) for file in files if file.is_file()]


def document(rows: list, needs: dict, notes: dict) -> str:
    """`needs` and `notes` by client: what it takes to run it, and why a row is as it is."""
    text = ABOUT.format(share=SHARE_MIN) + as_markdown(rows)
    text += "\n## What each client needs\n\n"
    text += "".join(f"- **{client}**: {what}.\n" for client, what in needs.items())
    shown = {row.client for row in rows}
    causes = {client: what for client, what in notes.items() if client in shown}
    if causes:
        text += "\n## What was seen\n\n"
        text += "".join(f"- **{client}**: {what}\n" for client, what in causes.items())
    return text
