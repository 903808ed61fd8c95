"""The pictures of docs/clients.md: some clients put pictures into their requests, on the made model
with a made projector."""

from session import Row

CLIENTS = ("claude", "codex", "opencode", "pi")  # as in install.PACKAGES
HEAD = ("Client", "Version", "Pictures by", "Requests", "With pictures", "Pictures", "Encoded",
        "Prompt tokens", "Prefilled", "Reused", "Result")


def key_of(client: str) -> str:
    return f"{client}-pictures"


def cells(row: Row) -> list:
    if row.not_run:
        return [row.client, row.version, row.ways, *[""] * 7, "not run: " + row.not_run]
    return [row.client, row.version, row.ways, str(row.requests), str(row.pictured),
            str(row.pictures), str(row.encoded), f"{row.prompt_tokens:,}", f"{row.read_tokens:,}",
            f"{row.share:.1%}", "ok" if row.passed else "; ".join(row.problems)]


def line(texts) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def as_markdown(rows: list) -> str:
    lines = [line(HEAD), line(["---", "---", "---", *["---:"] * 7, "---"])]
    return "\n".join(lines + [line(cells(row)) for row in rows]) + "\n"
