"""A page as a list of blocks, and the same page as Markdown or as one HTML file."""

import base64
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from report.plots import Plot
from report.text import wrapped

FOLDER = Path(__file__).resolve().parent


@dataclass
class Heading:
    level: int
    text: str


@dataclass
class Paragraph:
    text: str  # Markdown: **strong**, *emphasis*, `code`


@dataclass
class Bullets:
    items: list[str]  # as Paragraph


@dataclass
class Code:
    text: str


@dataclass
class Cell:
    text: str
    value: float  # to sort by


@dataclass
class Table:
    head: list[str]
    rows: list[list[str | Cell]]
    words: int = 1  # so many columns of text, on the left; the others are figures


@dataclass
class Picture:
    file: str  # its name, "hybrid-qwen35-read.svg"; the same result has the same names
    title: str
    plot: Plot


Block = Heading | Paragraph | Bullets | Code | Table | Picture


def pictures(blocks: list[Block]) -> list[Picture]:
    return [block for block in blocks if isinstance(block, Picture)]


def blocks_of(text: str) -> list[Block]:
    """The blocks of a short Markdown text of paragraphs and fenced code."""
    blocks: list[Block] = []
    for at, part in enumerate(re.split(r"^```\n", text, flags=re.MULTILINE)):
        if at % 2:
            blocks.append(Code(part))
        else:
            blocks += [Paragraph(" ".join(words)) for paragraph in part.split("\n\n")
                       if (words := paragraph.split())]
    return blocks


def _cell_text(cell: str | Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


def _row(cells: list[str]) -> str:
    marked = [escape(cell).replace("|", "\\|").replace("\n", " ") for cell in cells]
    return "| " + " | ".join(marked) + " |\n"


def _markdown_table(table: Table) -> str:
    rule = ["---" if at < table.words else "--:" for at in range(len(table.head))]
    rows = "".join(_row([_cell_text(cell) for cell in row]) for row in table.rows)
    return _row(table.head) + "| " + " | ".join(rule) + " |\n" + rows


def _markdown_block(block: Block, plots: str) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {block.text}\n"
        case Paragraph():
            return wrapped(block.text) + "\n"
        case Bullets():
            return "".join(f"- {escape(item, quote=False)}\n" for item in block.items)
        case Code():
            return f"```\n{block.text.rstrip()}\n```\n"
        case Table():
            return _markdown_table(block)
        case Picture():
            return f"![{block.title}]({plots}{block.file})\n" if plots else ""


def markdown(blocks: list[Block], plots: str) -> str:
    """`plots`: the folder of the plots as links name it, "benchmarks/"; empty: no links."""
    return "\n".join(text for block in blocks if (text := _markdown_block(block, plots)))


def _inline(text: str) -> str:
    text = escape(text)
    for mark, tag in ((r"\*\*", "strong"), (r"\*", "em"), ("`", "code")):
        text = re.sub(f"{mark}(.+?){mark}", rf"<{tag}>\1</{tag}>", text)
    return text


def _html_cell(cell: str | Cell) -> str:
    value = f"{cell.value:.6g}" if isinstance(cell, Cell) else escape(cell)
    return f'<td data-value="{value}">{_inline(_cell_text(cell))}</td>'


def _html_table(table: Table) -> str:
    kinds = ["text" if at < table.words else "number" for at in range(len(table.head))]
    head = "".join(f'<th data-sort="{kind}">{_inline(name)}</th>'
                   for kind, name in zip(kinds, table.head))
    rows = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>\n" for row in table.rows)
    return (f'<div class="wide"><table class="words{table.words}"><thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{rows}</tbody></table></div>\n")


def _html_block(block: Block, svgs: dict[str, bytes]) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{_inline(block.text)}</h{block.level}>\n"
        case Paragraph():
            return f"<p>{_inline(block.text)}</p>\n"
        case Bullets():
            return "".join(["<ul>\n", *(f"<li>{_inline(item)}</li>\n" for item in block.items),
                            "</ul>\n"])
        case Code():
            return f"<pre>{escape(block.text.rstrip())}</pre>\n"
        case Table():
            return _html_table(block)
        case Picture():
            data = base64.b64encode(svgs[block.file]).decode("ascii")
            return (f'<figure><img alt="{escape(block.title)}" '
                    f'src="data:image/svg+xml;base64,{data}"></figure>\n')


def html(blocks: list[Block], svgs: dict[str, bytes]) -> str:
    """One file that asks nobody for anything. `svgs`: of each picture, by its file's name."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    body = "".join(_html_block(block, svgs) for block in blocks)
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    return ('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
            f"<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}</main>\n"
            f"<script>\n{script}</script>\n</body>\n</html>\n")
