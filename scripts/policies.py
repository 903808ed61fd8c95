#!/usr/bin/env python3
"""Replays traces under every policy and writes docs/policies.md. Called by `make policies`.

    policies.py [--traces FOLDER] [--cairn FILE] [--jobs N] [--first N] [--only PART,…]
                [--no-runs] [--pause-while FILE]

What a run found is kept in build/policies/results.json under its command line and the hashes of the
program and the trace. So it can be stopped at any time, and a later run does only what is missing.
The exit code is 0 when every run that the page needs is there.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "lab")]

from policies_plan import PARTS, TRACES, Run, planned  # noqa: E402
from policies_report import write_page  # noqa: E402

POLL_S = 0.2
BLOCK = 1 << 20


def fail(what: str):
    sys.exit(f"{Path(sys.argv[0]).stem}: {what}")


def hash_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()[:16]


class Program:
    """The program that is measured. All of one page must come from the same."""

    def __init__(self, path: Path):
        if not path.is_file():
            fail(f"there is no program {path}; `make build` makes it, --cairn names another")
        self.path = path
        self.stamp = self._stamp()
        self.hash = hash_of(path)
        told = subprocess.run([path, "sim", "--help"], capture_output=True, text=True, check=False)
        self.help = told.stdout

    def _stamp(self):
        stat = self.path.stat()
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    def changed(self) -> bool:
        return not self.path.is_file() or self._stamp() != self.stamp


class Traces:
    """Files of traces, and their first lines as files of their own."""

    def __init__(self, folder: Path, scratch: Path, sources: dict | None = None):
        """`sources`: of each trace that is needed."""
        sources = sources or TRACES
        missing = [name for name in sources if not (folder / f"{name}.jsonl").is_file()]
        if missing:
            lines = [f"there is no {name}.jsonl in {folder}: {sources[name]}" for name in missing]
            fail("\n".join(lines) + "\nThey are too large for the repository. Put them into a "
                 "folder and name it with --traces (make policies TRACES=folder);\n"
                 "docs/traces.md has the formats.")
        self._folder, self._scratch, self._hashes = folder, scratch, {}

    def file(self, name: str, first: int) -> Path:
        whole = self._folder / f"{name}.jsonl"
        if not first:
            return whole
        part = self._scratch / f"{name}-first-{first}.jsonl"
        with whole.open() as file:
            text = "".join(line for _, line in zip(range(first), file))
        if not part.is_file() or part.read_text() != text:
            part.write_text(text)
        return part

    def hash(self, name: str, first: int) -> str:
        if (name, first) not in self._hashes:
            self._hashes[name, first] = hash_of(self.file(name, first))
        return self._hashes[name, first]


class Results:
    def __init__(self, path: Path, program: Program, traces: Traces):
        self._path, self._program, self._traces = path, program, traces
        self._all = json.loads(path.read_text()) if path.is_file() else {}

    def _key(self, run: Run) -> str:
        trace = self._traces.hash(run.trace, run.first)
        return " ".join([self._program.hash, trace, *run.flags()])

    def get(self, run: Run):
        """Figures of `run`, or None."""
        found = self._all.get(self._key(run))
        return found["figures"] if found else None

    def seconds(self, run: Run) -> float:
        found = self._all.get(self._key(run))
        return found["seconds"] if found else 0.0

    def keep(self, run: Run, seconds: float, figures: dict):
        self._all[self._key(run)] = {"seconds": round(seconds, 1), "figures": figures}
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(self._all, indent=1, sort_keys=True) + "\n")
        fresh.replace(self._path)


@dataclass
class Child:
    run: Run
    process: subprocess.Popen
    out: Path
    log: Path
    seconds: float = 0.0  # without pauses


class Runner:
    """Does the runs that are missing, some at a time."""

    def __init__(self, program: Program, traces: Traces, results: Results, scratch: Path, args):
        self._program, self._traces, self._results = program, traces, results
        self._scratch, self._jobs, self._pause_while = scratch, args.jobs, args.pause_while
        self._children, self._number, self._paused, self.failed = [], 0, False, 0

    def do(self, runs: list):
        missing = [run for run in runs if self._results.get(run) is None]
        print(f"{len(runs)} runs, {len(missing)} of them to do", flush=True)
        todo, done = list(missing), 0
        last = time.monotonic()
        try:
            while todo or self._children:
                self._pause()
                while todo and len(self._children) < self._jobs and not self._paused:
                    self._start(todo.pop(0))
                time.sleep(POLL_S)
                now = time.monotonic()
                for child in [] if self._paused else list(self._children):
                    child.seconds += now - last
                    if child.process.poll() is not None:
                        done += 1
                        self._end(child, f"[{done}/{len(missing)}]")
                last = now
        finally:
            for child in self._children:
                child.process.kill()
                child.process.wait()
                for file in (child.out, child.log):
                    file.unlink(missing_ok=True)

    def _pause(self):
        wanted = self._pause_while is not None and self._pause_while.exists()
        if wanted == self._paused:
            return
        self._paused = wanted
        print("paused" if wanted else "going on", flush=True)
        for child in self._children:
            child.process.send_signal(signal.SIGSTOP if wanted else signal.SIGCONT)

    def _start(self, run: Run):
        if self._program.changed():
            fail("the program was built anew meanwhile; start again, so that all figures are of "
                 "one")
        self._number += 1
        out = self._scratch / f"run-{os.getpid()}-{self._number}.json"
        log = out.with_suffix(".log")
        command = [self._program.path, "sim", "--trace", self._traces.file(run.trace, run.first),
                   *run.flags(), "--json", out]
        with log.open("w") as file:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self._children.append(Child(run, process, out, log))

    def _end(self, child: Child, count: str):
        self._children.remove(child)
        good = child.process.returncode == 0 and child.out.is_file()
        if good:
            figures = json.loads(child.out.read_text())
            self._results.keep(child.run, child.seconds, figures)
            told = f"{figures['token_hit_rate'] * 100:.2f} %"
        else:
            self.failed += 1
            told = "failed: " + (child.log.read_text().strip().splitlines() or ["no word"])[-1]
        for file in (child.out, child.log):
            file.unlink(missing_ok=True)
        print(f"{count} {child.run.title()}: {told}, {child.seconds:.0f} s", flush=True)


def parser_of(text: str, folder: str, parts: list[str]) -> argparse.ArgumentParser:
    """The arguments of a script that runs `cairn-lab sim` and keeps its results in build/`folder`."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--cairn", type=Path, default=ROOT / "build" / "cairn-lab")
    parser.add_argument("--traces", type=Path, default=ROOT.parent / "shared" / "traces",
                        help="folder of the traces")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--first", type=int, default=0,
                        help="only the first N lines of each trace, as a quick check; the page "
                             f"goes to build/{folder}/first-N then")
    parser.add_argument("--only", default="", help="some parts: " + ", ".join(parts))
    parser.add_argument("--no-runs", action="store_true",
                        help="write the page from what there is")
    parser.add_argument("--pause-while", type=Path, help="halt all runs while this file exists")
    return parser


def checked(args, parts: list[str]):
    """Sets args.parts, those of --only or all; fails where an argument has no meaning."""
    asked = [part for part in args.only.split(",") if part]
    unknown = [part for part in asked if part not in parts]
    if unknown:
        fail(f"no part is named {', '.join(unknown)}; there are: {', '.join(parts)}")
    if args.jobs < 1 or args.first < 0:
        fail("--jobs is at least 1, and --first not negative")
    args.parts = asked or parts
    return args


def parsed():
    parser = parser_of(__doc__, "policies", PARTS)
    parser.add_argument("--all-pairs", action="store_true",
                        help="every placement with every eviction, not only with the defaults")
    return checked(parser.parse_args(), PARTS)


def main() -> int:
    args = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    scratch = ROOT / "build" / "policies"
    scratch.mkdir(parents=True, exist_ok=True)
    program = Program(args.cairn.resolve())
    traces = Traces(args.traces, scratch)
    results = Results(scratch / "results.json", program, traces)
    plan = planned(args.first, args.all_pairs, program.help)
    runs = list(dict.fromkeys(run for part in args.parts for run in plan.runs[part]))
    failed = 0
    if not args.no_runs:
        runner = Runner(program, traces, results, scratch, args)
        runner.do(runs)
        failed = runner.failed
    page = (scratch / f"first-{args.first}" if args.first else ROOT / "docs") / "policies.md"
    missing = write_page(page, plan, results, ROOT / "docs" / "policies_tried.md")
    print(f"wrote {page}" + (f"; {missing} runs are missing in it" if missing else ""))
    for part, reason in plan.left_out.items():
        print(f"left out {part}: {reason}")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("policies: stopped; what was done is kept, the next run goes on from there")
