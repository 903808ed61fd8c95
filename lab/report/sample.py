"""For tests: the result that C++ tests write to testdata/golden/bench.json, and golden files."""

import os
import unittest
from dataclasses import replace
from pathlib import Path

from report.result import Result, Server, parse

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "testdata" / "golden"
SAMPLE_JSON = GOLDEN / "bench.json"


def sample() -> Result:
    """Two scenarios on cairn and llama-server, twice, and four workloads. In edit-early one
    request is cancelled on both, and llama-server's second run failed."""
    return parse(SAMPLE_JSON.read_text(encoding="utf-8"))


def healthy() -> Result:
    """Without the failed run, and ours prefills hardly more than the lower bound."""
    result = sample()
    result.servers[1].runs[3].error = ""
    for run in result.servers[0].runs:
        if run.scenario == "edit-early":
            run.requests[1].read_tokens -= 160
    return result


def unknown() -> Result:
    """Without lower bounds."""
    result = sample()
    for request in (request for server in result.servers for run in server.runs
                    for request in run.requests):
        request.lower_bound_tokens = 0
    return result


def of_model(result: Result, model: str, memory: str = "") -> Result:
    """The same measurements of another model."""
    return replace(result, servers=[replace(server, model=model, memory=memory)
                                    for server in result.servers])


def alone(server: Server) -> Result:
    return Result(1, 1, [server])


def expect_golden(test: unittest.TestCase, name: str, text: str) -> None:
    """With UPDATE_GOLDEN=1 the file is rewritten instead."""
    if os.environ.get("UPDATE_GOLDEN") == "1":
        (GOLDEN / name).write_text(text, encoding="utf-8")
        return
    test.assertEqual((GOLDEN / name).read_text(encoding="utf-8"), text,
                     f"differs from testdata/golden/{name}; if that is right, run the test with "
                     "UPDATE_GOLDEN=1")
