#!/usr/bin/env python3
"""Runs real clients against `cairn serve` and writes docs/clients.md. Called by `make clients`.

    run.py [--only KEY,…] [--templates NAME,…] [--keep FOLDER]

First each client on its own, then those that ask for several completions at once, then those that
send schemas, then some with pictures, then the matrix: some clients under the
templates of several families of models. With --templates the matrix alone is run, with these
templates (`all`: with all of them); `none` leaves it out. The exit code is 0 when every client that
was to run did, and passed.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "scripts")]

import batches  # noqa: E402
import matrix  # noqa: E402
import pictures  # noqa: E402
import table  # noqa: E402
from drivers.claude import Claude, ClaudeWithChangingHeader  # noqa: E402
from drivers.cline import Cline  # noqa: E402
from drivers.cn import Continue  # noqa: E402
from drivers.codex import Codex  # noqa: E402
from drivers.copilot import Copilot  # noqa: E402
from drivers.gptel import Gptel  # noqa: E402
from drivers.kilo import Kilo  # noqa: E402
from drivers.libraries import (LangChainOllama, OllamaPython, PydanticAi,  # noqa: E402
                               Smolagents, Strands)
from drivers.node_turns import AiSdk, OllamaJs  # noqa: E402
from drivers.opencode import OpenCode, OpenCodeWithTwoModels  # noqa: E402
from drivers.openhands import OpenHands  # noqa: E402
from drivers.pi import Pi  # noqa: E402
from drivers.qwen import Qwen  # noqa: E402
from drivers.vibe import Vibe  # noqa: E402
from install import PACKAGES, install  # noqa: E402
from session import Row, Setting, play  # noqa: E402

DRIVERS = [Claude(), ClaudeWithChangingHeader(), Codex(), OpenCode(), Qwen(), Cline(), Pi(),
           Continue(), Gptel(), Vibe(), PydanticAi(), Strands(), Smolagents(), Copilot(),
           Kilo(), OpenHands(), AiSdk(), OllamaPython(), OllamaJs(), LangChainOllama()]
# One thread: two that wait for each other are slower where other work goes on.
FLAGS = ["-np", "8", "--kv-unified", "--cache-ram", "4096", "-t", "1", "--temp", "0"]
CLIENTS = ROOT / ".deps" / "clients"
ROWS = CLIENTS / "rows"
CELLS = CLIENTS / "cells"
PICTURES = CLIENTS / "pictures"
BATCHES = CLIENTS / "batches"
SCHEMAS = CLIENTS / "schemas"
PAGE = ROOT / "docs" / "clients.md"
PROGRAM = ROOT / "build" / "cairn"
LAB = ROOT / "build" / "cairn-lab"


@dataclass
class Model:
    name: str
    path: Path
    flags: list
    reasons: bool  # its answers begin with reasoning
    suffix: str = ""  # of the rows' keys
    second: Optional[Path] = None  # of two models behind one port


# Its memory is all recurrent: nothing of a prompt is reused but from a checkpoint. And it reads a
# long prompt in a quarter of a minute, where attention over so many one-byte tokens takes minutes.
WIDTH = "64"
MADE = Model("made mamba2", ROOT / "models" / "clients-mamba2.gguf",
             ["-c", "262144"], reasons=True)
GEMMA = Model("Gemma 3 270M", ROOT / "models" / "gemma-3-270m-q4_k_m.gguf",
              ["--chat-template", "chatml", "-c", "32768"], reasons=False, suffix="-gemma")
TWO = Model("two made mamba2", MADE.path, MADE.flags, reasons=True, suffix="-two-models",
            second=ROOT / "models" / "clients-mamba2-other.gguf")
# Made for the width of the made model. Its rows need nothing of a text model but that.
PROJECTOR = ROOT / "models" / "clients-mmproj.gguf"
# The small prompts are read by real weights too.
RUNS = [(driver, MADE) for driver in DRIVERS] + [
    (driver, GEMMA) for driver in DRIVERS if driver.package in ("pi", "gptel")] + [
    (OpenCodeWithTwoModels(), TWO)]


def key_of(driver, model: Model) -> str:
    return driver.package + model.suffix


def make_models():
    MADE.path.parent.mkdir(exist_ok=True)
    for path, layers in ((MADE.path, "2"), (TWO.second, "3")):
        if not path.is_file():
            subprocess.run([LAB, "model", "make", "mamba2", path, "--width", WIDTH, "--layers",
                            layers, "--train-ctx", "262144", "--quant", "f16"], check=True)
    if not PROJECTOR.is_file():
        subprocess.run([LAB, "model", "make-projector", "lfm2", PROJECTOR, "--width", WIDTH],
                       check=True)


def run_one(driver, model: Model, name: str, folder: Path, flags: list, **scenario) -> Row:
    """`driver`: or a batch. `name`: of the model or the template, as in the table. `scenario`: as
    in Setting."""
    version = PACKAGES[driver.package].version
    reason = install(driver.package, CLIENTS)
    if not reason and not model.path.is_file():
        reason = f"{model.path.name} is not here"
    if reason:
        return Row(driver.name, version, name, not_run=reason)
    print(f"{driver.name} {version} on {name}", flush=True)
    setting = Setting(PROGRAM, model.path, name, model.reasons, FLAGS + model.flags + flags,
                      folder, CLIENTS, second=model.second, **scenario)
    try:
        if isinstance(driver, batches.Batch):
            return batches.play(driver, version, setting)
        return play(driver, version, setting)
    except (RuntimeError, SystemExit) as error:
        return Row(driver.name, version, name, problems=[str(error).replace("\n", " ")])


def run_rows(only: list, folder: Path) -> bool:
    passed = True
    for driver, model in RUNS:
        key = key_of(driver, model)
        if only and key not in only:
            continue
        row = run_one(driver, model, model.name, folder / key, [])
        passed = passed and row.passed
        table.keep(row, key, ROWS)
    rows = table.kept([key_of(*run) for run in RUNS], ROWS)
    needs = {driver.name: driver.needs for driver in DRIVERS}
    notes = {driver.name: driver.notes for driver, _ in RUNS if driver.notes}
    table.write_block(PAGE, "rows", table.as_markdown(rows))
    table.write_block(PAGE, "needs", table.needs_and_notes(rows, needs, notes))
    print("\n" + table.as_markdown(rows), flush=True)
    return passed


def run_batches(only: list, folder: Path, block: str, clients: list, kept: Path) -> bool:
    """`block`: of the page, where the table is written."""
    passed = True
    for batch in clients:
        if only and batch.package not in only:
            continue
        row = run_one(batch, MADE, MADE.name, folder / batch.package, [])
        passed = passed and row.passed
        table.keep(row, batch.package, kept)
    rows = table.kept([batch.package for batch in clients], kept)
    table.write_block(PAGE, block, batches.as_markdown(rows))
    print("\n" + batches.as_markdown(rows), flush=True)
    return passed


def run_pictures(only: list, folder: Path) -> bool:
    passed = True
    by_package = {driver.package: driver for driver in DRIVERS}
    for client in pictures.CLIENTS:
        key = pictures.key_of(client)
        if only and key not in only:
            continue
        row = run_one(by_package[client], MADE, MADE.name, folder / key,
                      ["--mmproj", str(PROJECTOR)], pictures=True)
        passed = passed and row.passed
        table.keep(row, key, PICTURES)
    rows = table.kept([pictures.key_of(client) for client in pictures.CLIENTS], PICTURES)
    table.write_block(PAGE, "pictures", table.pictures_as_markdown(rows))
    print("\n" + table.pictures_as_markdown(rows), flush=True)
    return passed


def run_matrix(only: list, templates: list, folder: Path) -> bool:
    passed = True
    by_package = {driver.package: driver for driver in DRIVERS}
    for name in templates:
        for client in matrix.CLIENTS:
            if only and client not in only:
                continue
            key = matrix.key_of(client, name)
            flags = ["--chat-template-file", str(matrix.template_file(name))]
            cell = run_one(by_package[client], MADE, name, folder / key, flags)
            print(matrix.explain(cell), flush=True)
            passed = passed and matrix.reached(cell)
            table.keep(cell, key, CELLS)
    keys = [matrix.key_of(client, name) for client in matrix.CLIENTS for name in matrix.TEMPLATES]
    cells = table.kept(keys, CELLS)
    table.write_block(PAGE, "matrix", matrix.as_markdown(cells))
    print("\n" + matrix.overview(cells), flush=True)
    return passed


def listed(text: str, known: list, parser) -> list:
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"{', '.join(unknown)}: there are {', '.join(known)}")
    return names


def chosen(only: list, keys) -> bool:
    """Whether any of the keys is to be run."""
    return not only or bool(set(only) & set(keys))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="clients, by their keys, with commas")
    parser.add_argument("--templates", default="",
                        help="columns of the matrix, with commas; the rows are then left out")
    parser.add_argument("--keep", type=Path, help="folder for what is sent and said")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    row_keys = [key_of(*run) for run in RUNS]
    picture_keys = [pictures.key_of(client) for client in pictures.CLIENTS]
    batch_keys = [batch.package for batch in batches.CLIENTS]
    schema_keys = [batch.package for batch in batches.WITH_SCHEMAS]
    only = listed(options.only, row_keys + batch_keys + schema_keys + picture_keys, parser)
    templates = listed(options.templates, [*matrix.TEMPLATES, "all", "none"], parser)
    make_models()
    passed = True
    with tempfile.TemporaryDirectory(prefix="cairn-clients-") as temporary:
        folder = options.keep.resolve() if options.keep else Path(temporary)
        alone = not templates or templates == ["none"]
        if alone and chosen(only, row_keys):
            passed = run_rows(only, folder)
        if alone and chosen(only, batch_keys):
            passed = run_batches(only, folder, "batches", batches.CLIENTS, BATCHES) and passed
        if alone and chosen(only, schema_keys):
            passed = run_batches(only, folder, "schemas", batches.WITH_SCHEMAS,
                                 SCHEMAS) and passed
        if alone and chosen(only, picture_keys):
            passed = run_pictures(only, folder) and passed
        columns = list(matrix.TEMPLATES) if not templates or "all" in templates else templates
        if "none" not in columns and chosen(only, matrix.CLIENTS):
            passed = run_matrix(only, columns, folder) and passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
