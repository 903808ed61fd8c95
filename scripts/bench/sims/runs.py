"""Runs of `cairn-lab sim`, some at a time.

What a run found is kept in results.json under its command line and the hashes of the program and
the trace. So a plan can be stopped at any time, and a later one does only what is missing.
"""

import hashlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from bench.settings import ROOT, Settings, chosen, fail, path, words

POLL_S = 0.2
BLOCK = 1 << 20


class SimSettings(Settings):
    """`file`: the page's name; `parts`: what it has."""

    def __init__(self, name: str, text: str, argv: list[str], file: str,
                 parts: list[str]):
        super().__init__(name, text, argv, folder=name)
        self._file, self._parts = file, parts
        self.add("traces", path, ROOT.parent / "shared" / "traces", "the folder of the traces")
        self.add("jobs", int, 1, "runs at the same time")
        self.add("first", int, 0, "only the first N lines of each trace, as a quick check; the "
                 "page goes to first-N in the folder of the runs")
        self.add("only", words, parts, "some parts of the page")
        self.flag("no-runs", "write the page from what there is")
        self.add("pause-while", path, None, "halt all runs while this file exists")
        self.add("out", path, None, "the page")

    def parsed(self):
        args = super().parsed()
        args.out = args.out or (args.work / f"first-{args.first}" if args.first else
                                ROOT / "docs") / self._file
        chosen(args.only, self._parts, "ONLY")
        if args.jobs < 1 or args.first < 0:
            fail("JOBS is at least 1, and FIRST not negative")
        return args


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
            fail(f"there is no program {path}; `make build` makes it, --lab names another")
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

    def __init__(self, folder: Path, scratch: Path, sources: dict):
        """`sources`: of each trace that is needed."""
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

    def _key(self, run) -> str:
        trace = self._traces.hash(run.trace, run.first)
        return " ".join([self._program.hash, trace, *run.flags()])

    def get(self, run):
        """Figures of `run`, or None."""
        found = self._all.get(self._key(run))
        return found["figures"] if found else None

    def seconds(self, run) -> float:
        found = self._all.get(self._key(run))
        return found["seconds"] if found else 0.0

    def keep(self, run, seconds: float, figures: dict):
        self._all[self._key(run)] = {"seconds": round(seconds, 1), "figures": figures}
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(self._all, indent=1, sort_keys=True) + "\n")
        fresh.replace(self._path)


@dataclass
class Child:
    run: object
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

    def _start(self, run):
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


def opened(args, sources: dict):
    """The program, the traces and the results so far."""
    args.work.mkdir(parents=True, exist_ok=True)
    program = Program(args.lab)
    traces = Traces(args.traces, args.work, sources)
    return program, traces, Results(args.work / "results.json", program, traces)


def do_runs(args, program: Program, traces: Traces, results: Results, runs: list) -> int:
    """Does those that are missing. Returns how many failed."""
    if args.no_runs:
        return 0
    runner = Runner(program, traces, results, args.work, args)
    runner.do(runs)
    return runner.failed


def told(args, failed: int, missing: int) -> int:
    """Says what the page lacks. Returns the exit code."""
    print(f"wrote {args.out}" + (f"; {missing} runs are missing in it" if missing else ""))
    return 1 if failed or missing else 0
