#!/usr/bin/env python3
"""Sends a sample of MaskBench's schemas to cairn and to llama-server (make schema-peer).

Usage: scripts/schemas/peer.py FOLDER --model FILE [--count N] [--seed S] [--json FILE]
                               [--cairn build/cairn] [--checker build/bench/schema_check]

FOLDER is maskbench/data of guidance-ai/jsonschemabench. Of each schema one token is asked for, at
/completion. The schema is accepted if there is an answer. The grammar that the server made of it
plays the schema's instances: cairn's translator is called again, llama-server says in its answer
what it made. A server that ends is started again and counted.

Prints a table. "Instances right" are schemas of which every valid instance is allowed, up to the
order of properties, and every invalid one refused."""

import argparse
import http.client
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import judge
from checker import ROOT, Checker, percent, percentile

START_S = 60
REQUEST_S = 60


def peer_command() -> tuple:
    """llama-server of the private prefix, as scripts/lib/peer.sh finds it, and its folder."""
    prefix = ROOT / ".deps/prefix/usr"
    for loader in sorted(prefix.glob("lib/*/ld-linux*.so.*")):
        libraries = loader.parent
        folder = sorted(libraries.glob("ggml/backends*"))[-1]
        return [str(loader), "--library-path", f"{libraries}:{libraries}/llama",
                str(prefix / "bin/llama-server")], folder
    return ["llama-server"], ROOT


class Server:
    """A server that is started again when it has ended."""

    def __init__(self, command: list, folder: Path, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._command = [*command, "--port", str(self.port)]
        self._folder = folder
        self._log = log.open("wb")
        self.process = None
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, cwd=self._folder, stdout=self._log,
                                        stderr=self._log)
        end_s = time.monotonic() + START_S
        while time.monotonic() < end_s:
            try:
                if self._get("/health") == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"the server does not start: {self._command}")

    def _get(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        connection.request("GET", path)
        return connection.getresponse().status

    def ask(self, schema: object, seed: int) -> tuple:
        """Returns the status, what was said, and the seconds; 0 if the server ended."""
        body = {"prompt": "JSON:", "json_schema": schema, "n_predict": 1, "seed": seed}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=REQUEST_S)
        begin_s = time.monotonic()
        try:
            connection.request("POST", "/completion", json.dumps(body),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text), time.monotonic() - begin_s
        except (OSError, http.client.HTTPException, ValueError) as error:
            # A dying process has a moment to end.
            try:
                self.process.wait(5)
                return 0, {}, time.monotonic() - begin_s
            except subprocess.TimeoutExpired:
                self.close()
                return -1, {"error": repr(error)}, time.monotonic() - begin_s
        finally:
            connection.close()
            if self.process.poll() is not None:
                self.start()

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Count:
    """What one server did with all schemas."""

    def __init__(self) -> None:
        self.accepted = self.refused = self.ended = self.late = self.unread = 0
        self.whole = self.right = self.undecided = 0
        self.valid = self.valid_refused = self.invalid = self.invalid_allowed = 0
        self.times_ms: list = []
        self.notes: list = []

    def add_status(self, name: str, status: int, said: object, taken_s: float) -> bool:
        if status == 200:
            self.accepted += 1
            self.times_ms.append(1000 * taken_s)
            return True
        self.ended += status == 0
        self.late += status == -1
        self.refused += status > 0
        self.notes.append(f"{name}: {status} {str(said)[:160]}")
        return False

    def add_instances(self, name: str, schema: object, tests: list, answer: dict) -> None:
        if "error" in answer:
            self.unread += 1
            self.notes.append(f"{name}: {answer['error'][:160]}")
            return
        self.whole += not answer["loosened"]
        wrong = undecided = False
        for test, allowed in zip(tests, answer["results"], strict=True):
            verdict = test["valid"]
            if allowed is None:
                undecided = True
                continue
            if allowed != verdict and judge(schema, test["data"]) != verdict:
                continue
            self.valid += verdict
            self.invalid += not verdict
            self.valid_refused += verdict and not allowed
            self.invalid_allowed += allowed and not verdict
            wrong = wrong or allowed != verdict
        self.right += not wrong and not undecided
        self.undecided += undecided and not wrong

    def rows(self, count: int) -> list:
        return [
            ("accepted", f"{self.accepted} ({percent(self.accepted, count)})"),
            ("refused with a status", self.refused),
            ("the server ended", self.ended),
            (f"no answer in {REQUEST_S} s", self.late),
            ("its grammar could not be played", self.unread),
            ("instances all right", f"{self.right} ({percent(self.right, count)})"),
            ("with too many orders of properties", self.undecided),
            ("valid instances refused", f"{self.valid_refused} of {self.valid}"),
            ("invalid instances allowed", f"{self.invalid_allowed} of {self.invalid}"),
            ("time of a request, p50", f"{percentile(self.times_ms, 0.5):.0f} ms"),
            ("p99", f"{percentile(self.times_ms, 0.99):.0f} ms"),
            ("most", f"{max(self.times_ms, default=0):.0f} ms"),
        ]


def play(paths: list, seed: int, server: Server, checker: Checker, is_cairn: bool) -> Count:
    count = Count()
    for path in paths:
        read = json.loads(path.read_text(encoding="utf-8"))
        schema = read["schema"]
        status, said, taken_s = server.ask(schema, seed)
        if not count.add_status(path.name, status, said, taken_s):
            continue
        tests = read.get("tests") or []
        data = [test["data"] for test in tests]
        if is_cairn:
            answer = checker.check(schema, data)
        else:
            answer = checker.check_grammar(said["generation_settings"]["grammar"], data)
        count.add_instances(path.name, schema, tests, answer)
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cairn", type=Path, default=ROOT / "build/cairn")
    parser.add_argument("--checker", type=Path, default=ROOT / "build/bench/schema_check")
    parser.add_argument("--only", choices=["cairn", "llama-server"])
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    paths = sorted(asked.folder.glob("*.json"))
    paths = sorted(random.Random(asked.seed).sample(paths, min(asked.count, len(paths))))
    model = str(asked.model.resolve())
    command, folder = peer_command()
    commands = {
        "cairn": ([str(asked.cairn.resolve()), "serve", "-m", model, "--cache-disk", "0"], ROOT),
        "llama-server": ([*command, "-m", model, "-c", "2048", "-np", "1"], folder),
    }
    counts = {}
    with tempfile.TemporaryDirectory(prefix="schema_peer") as name:
        for who, (command, folder) in commands.items():
            if asked.only not in (None, who):
                continue
            server = Server(command, folder, Path(name) / f"{who}.log")
            try:
                counts[who] = play(paths, asked.seed, server, Checker(asked.checker),
                                   who == "cairn")
            finally:
                server.close()
    print(f"{len(paths)} schemas, seed {asked.seed}")
    print("| | " + " | ".join(counts) + " |\n| --- |" + " ---: |" * len(counts))
    for row in zip(*(count.rows(len(paths)) for count in counts.values())):
        print(f"| {row[0][0]} | " + " | ".join(str(cell) for _, cell in row) + " |")
    if asked.json:
        asked.json.write_text(json.dumps({who: vars(c) for who, c in counts.items()}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
