"""Sends a sample of MaskBench's schemas to cairn and to llama-server: make schema-peer.

FOLDER is maskbench/data of guidance-ai/jsonschemabench. Of each schema one token is asked for, at
/completion. The schema is accepted if there is an answer. The grammar that the server made of it
plays the schema's instances: cairn's translator is called again, llama-server says in its answer
what it made. A server that ends is started again and counted.

Prints a table. "Instances right" are schemas of which every valid instance is allowed, up to the
order of properties, and every invalid one refused."""

import http.client
import json
import random
import subprocess
import time

from bench.pages import percentile, table
from bench.schemas.checker import Checker, percent, schema_settings
from bench.schemas.maskbench import judge
from bench.servers import ROOT, Server, find_peer
from bench.settings import path, prepared

REQUEST_S = 60
ALIVE_S = 5  # in which a dying process has ended


class LastingServer(Server):
    """A server that is started again when it has ended."""

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
                self._process.wait(ALIVE_S)
                return 0, {}, time.monotonic() - begin_s
            except subprocess.TimeoutExpired:
                self.stop()
                return -1, {"error": repr(error)}, time.monotonic() - begin_s
        finally:
            connection.close()
            if self._process.poll() is not None:
                self.start()


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


def main(argv: list[str]):
    settings = schema_settings("schema-peer", __doc__, argv)
    settings.add("model", path, None, "a file")
    settings.add("count", int, 500)
    settings.add("seed", int, 1)
    settings.add("only", str, "", "cairn or llama-server")
    asked = prepared(settings.parsed())
    paths = sorted(asked.folder[0].glob("*.json"))
    paths = sorted(random.Random(asked.seed).sample(paths, min(asked.count, len(paths))))
    found, model = find_peer(), ["-m", asked.model]
    commands = {
        "cairn": ([asked.cairn, "serve", *model, "--cache-disk", "0"], ROOT),
        "llama-server": ([*found.command, *model, "-c", "2048", "-np", "1"], found.folder)}
    counts = {}
    for who, (command, folder) in commands.items():
        if asked.only in ("", who):
            with LastingServer(command, folder, asked.work / f"{who}.log") as server:
                counts[who] = play(paths, asked.seed, server, Checker(asked.checker),
                                   who == "cairn")
    print(f"{len(paths)} schemas, seed {asked.seed}")
    rows = zip(*(count.rows(len(paths)) for count in counts.values()))
    print(table(["", *counts], [[row[0][0], *(str(cell) for _, cell in row)] for row in rows]))
    if asked.json:
        asked.json.write_text(json.dumps({who: vars(c) for who, c in counts.items()}, indent=1))
