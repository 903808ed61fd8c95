"""Pages from results of `cairn-lab bench --json` or `cairn-lab bench load --json`, in the order
played. Called by scripts/report.sh.

    report.sh scenarios|load|model FILE… [--markdown FILE] [--svg-dir DIR] [--html FILE]
        [--facts FILE]
"""

import argparse
import os
import sys
from pathlib import Path

from report.load_page import load_page
from report.model_page import model_page
from report.page import Block, Picture, blocks_of, html, markdown, pictures
from report.result import ResultError, merge, read
from report.scenario_page import scenario_page

PAGES = {"scenarios": scenario_page, "load": load_page, "model": model_page}


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="report.sh", description="Pages from JSON results.")
    parser.add_argument("page", choices=PAGES)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--markdown", type=Path, help="write a page of Markdown to this file")
    parser.add_argument("--svg-dir", type=Path, help="write the plots into this folder")
    parser.add_argument("--html", type=Path, help="write one page with its plots to this file")
    parser.add_argument("--facts", type=Path,
                        help="Markdown on the machine and the commands, for the page's end")
    return parser.parse_args(argv)


def drawn(shown: list[Picture]) -> dict[str, bytes]:
    # Only whoever wants plots needs matplotlib.
    from report.draw import draw  # pylint: disable=import-outside-toplevel
    return {picture.file: draw(picture.plot) for picture in shown}


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def write_pages(options: argparse.Namespace, blocks: list[Block]) -> None:
    plots = ""
    svgs = drawn(pictures(blocks)) if options.svg_dir or options.html else {}
    if options.svg_dir:
        for file, svg in svgs.items():
            write(options.svg_dir / file, svg)
    if options.markdown:
        if options.svg_dir:
            plots = Path(os.path.relpath(options.svg_dir, options.markdown.parent)).as_posix() + "/"
        write(options.markdown, markdown(blocks, plots).encode())
    if options.html:
        write(options.html, html(blocks, svgs).encode())


def main(argv: list[str]) -> int:
    options = arguments(argv)
    try:
        results = merge([read(path) for path in options.files])
        facts = blocks_of(options.facts.read_text(encoding="utf-8")) if options.facts else []
        write_pages(options, PAGES[options.page](results, facts))
    except (ResultError, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
